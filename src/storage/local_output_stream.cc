#include "storage/local_output_stream.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "common/task_pool.h"
#include "storage/storage_error.h"

namespace thalweg {

int syncFile(int descriptor) {
  const BlockingSection waiting;
  return ::fsync(descriptor) == 0 ? 0 : errno;
}

int syncDirectory(const std::string& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  const int failure = syncFile(descriptor);
  ::close(descriptor);
  // Some network and user-space file systems have no sync for directories and say so.
  return failure == EINVAL ? 0 : failure;
}

LocalOutputStream::LocalOutputStream(std::string path, DirectorySync directorySync)
    : path_(std::move(path)), directorySync_(directorySync) {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw storageError(errno, "create", path_);
}

LocalOutputStream::~LocalOutputStream() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

arrow::Status LocalOutputStream::fail(int errorNumber, std::string_view action) {
  if (failure_.ok()) failure_ = arrow::Status::IOError(describeStorageFailure(errorNumber, action, path_));
  return failure_;
}

arrow::Status LocalOutputStream::Write(const void* data, int64_t size) {
  if (!failure_.ok()) return failure_;
  if (descriptor_ < 0) return arrow::Status::Invalid("write to the closed file ", path_);
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t count = ::write(descriptor_, next, static_cast<size_t>(size));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(errno, "write");
    next += count;
    size -= count;
    position_ += count;
  }
  return arrow::Status::OK();
}

arrow::Status LocalOutputStream::Close() {
  if (descriptor_ < 0) return failure_;
  if (failure_.ok()) {
    if (const int failure = syncFile(descriptor_)) static_cast<void>(fail(failure, "sync"));
  }
  // The kernel releases the descriptor even where close fails.
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) return fail(errno, "close");
  if (failure_.ok() && directorySync_ == DirectorySync::AtClose) {
    const size_t slash = path_.rfind('/');
    const int failure = syncDirectory(slash == 0 ? "/" : path_.substr(0, slash));
    if (failure != 0) return fail(failure, "sync the folder of");
  }
  return failure_;
}

arrow::Status LocalOutputStream::Abort() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  return arrow::Status::OK();
}

}  // namespace thalweg
