#include "columnar/spill_file.h"

#include <cerrno>
#include <filesystem>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>

#include "common/error.h"
#include "storage/storage_error.h"
#include "types/arrow_result.h"

namespace thalweg {
namespace {

constexpr const char* kWhat = "a temporary file of rows";

int openNameless() {
  std::string path = (std::filesystem::temp_directory_path() / "thalweg-rows-XXXXXX").string();
  const int descriptor = ::mkostemp(path.data(), O_CLOEXEC);
  if (descriptor < 0) throw storageError(errno, "create", path);
  ::unlink(path.c_str());
  return descriptor;
}

}  // namespace

SpillFile::SpillFile(std::shared_ptr<arrow::Schema> schema, int numGroups)
    : schema_(std::move(schema)), groups_(static_cast<size_t>(numGroups)), descriptor_(openNameless()) {}

SpillFile::~SpillFile() {
  ::close(descriptor_);
}

void SpillFile::write(int group, const arrow::RecordBatch& rows) {
  const auto bytes =
      valueOrThrow(arrow::ipc::SerializeRecordBatch(rows, arrow::ipc::IpcWriteOptions::Defaults()));
  for (int64_t done = 0; done < bytes->size();) {
    const ssize_t count =
        ::pwrite(descriptor_, bytes->data() + done, static_cast<size_t>(bytes->size() - done), end_ + done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw storageError(errno, "write", kWhat);
    done += count;
  }
  groups_[static_cast<size_t>(group)].push_back({end_, bytes->size()});
  end_ += bytes->size();
}

int SpillFile::numBatches(int group) const {
  return static_cast<int>(groups_[static_cast<size_t>(group)].size());
}

std::shared_ptr<arrow::RecordBatch> SpillFile::read(int group, int batch) const {
  const Place place = groups_[static_cast<size_t>(group)][static_cast<size_t>(batch)];
  std::shared_ptr<arrow::Buffer> bytes = valueOrThrow(arrow::AllocateBuffer(place.bytes));
  for (int64_t done = 0; done < place.bytes;) {
    const ssize_t count = ::pread(descriptor_, bytes->mutable_data() + done,
                                  static_cast<size_t>(place.bytes - done), place.offset + done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw storageError(count < 0 ? errno : EIO, "read", kWhat);
    done += count;
  }
  arrow::io::BufferReader stream(bytes);
  return valueOrThrow(
      arrow::ipc::ReadRecordBatch(schema_, nullptr, arrow::ipc::IpcReadOptions::Defaults(), &stream));
}

}  // namespace thalweg
