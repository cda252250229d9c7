#include "storage/fault_file_system.h"

#include <array>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include "storage/storage_error.h"

namespace thalweg {

struct FaultFileSystem::State {
  mutable std::mutex mutex;
  std::array<int64_t, static_cast<size_t>(FileOperation::Move) + 1> calls{};
  std::vector<FileFault> faults;

  // Counts a call; the fault that it meets, or none.
  std::optional<FileFault> pass(FileOperation operation) {
    const std::lock_guard lock(mutex);
    const int64_t call = ++calls[static_cast<size_t>(operation)];
    for (const FileFault& fault : faults) {
      if (fault.operation == operation && call >= fault.call && call < fault.call + fault.repeat)
        return fault;
    }
    return std::nullopt;
  }

  // Runs an operation under its fault.
  template <typename Run>
  auto run(FileOperation operation, std::string_view action, const std::string& path, Run&& operationItself) {
    const std::optional<FileFault> fault = pass(operation);
    if (!fault) return operationItself();
    if (fault->afterEffect) operationItself();
    throw storageError(fault->errorNumber, action, path);
  }
};

namespace {

class FaultOutputStream : public arrow::io::OutputStream {
 public:
  FaultOutputStream(std::shared_ptr<arrow::io::OutputStream> stream,
                    std::shared_ptr<FaultFileSystem::State> state, std::string path)
      : stream_(std::move(stream)), state_(std::move(state)), path_(std::move(path)) {}

  arrow::Status Write(const void* data, int64_t size) override {
    const std::optional<FileFault> fault = state_->pass(FileOperation::StreamWrite);
    if (!fault) return stream_->Write(data, size);
    ARROW_RETURN_NOT_OK(stream_->Write(data, fault->afterEffect ? size : size / 2));
    return failure(*fault, "write");
  }
  arrow::Status Flush() override { return stream_->Flush(); }
  arrow::Status Close() override {
    const std::optional<FileFault> fault = state_->pass(FileOperation::StreamClose);
    ARROW_RETURN_NOT_OK(stream_->Close());
    return fault ? failure(*fault, "close") : arrow::Status::OK();
  }
  arrow::Status Abort() override { return stream_->Abort(); }
  arrow::Result<int64_t> Tell() const override { return stream_->Tell(); }
  bool closed() const override { return stream_->closed(); }

 private:
  arrow::Status failure(const FileFault& fault, std::string_view action) const {
    return arrow::Status::IOError(describeStorageFailure(fault.errorNumber, action, path_));
  }

  std::shared_ptr<arrow::io::OutputStream> stream_;
  std::shared_ptr<FaultFileSystem::State> state_;
  std::string path_;
};

class FaultInputFile : public arrow::io::RandomAccessFile {
 public:
  FaultInputFile(std::shared_ptr<arrow::io::RandomAccessFile> file,
                 std::shared_ptr<FaultFileSystem::State> state, std::string path)
      : file_(std::move(file)), state_(std::move(state)), path_(std::move(path)) {}

  arrow::Status Close() override { return file_->Close(); }
  arrow::Result<int64_t> Tell() const override { return file_->Tell(); }
  bool closed() const override { return file_->closed(); }
  arrow::Status Seek(int64_t position) override { return file_->Seek(position); }
  arrow::Result<int64_t> GetSize() override { return file_->GetSize(); }
  arrow::Result<int64_t> Read(int64_t size, void* out) override {
    ARROW_RETURN_NOT_OK(pass());
    return file_->Read(size, out);
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t size) override {
    ARROW_RETURN_NOT_OK(pass());
    return file_->Read(size);
  }
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t size, void* out) override {
    ARROW_RETURN_NOT_OK(pass());
    return file_->ReadAt(position, size, out);
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t size) override {
    ARROW_RETURN_NOT_OK(pass());
    return file_->ReadAt(position, size);
  }

 private:
  arrow::Status pass() {
    const std::optional<FileFault> fault = state_->pass(FileOperation::Read);
    return fault ? arrow::Status::IOError(describeStorageFailure(fault->errorNumber, "read", path_))
                 : arrow::Status::OK();
  }

  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  std::shared_ptr<FaultFileSystem::State> state_;
  std::string path_;
};

}  // namespace

FaultFileSystem::FaultFileSystem(std::shared_ptr<FileSystem> store)
    : store_(std::move(store)), state_(std::make_shared<State>()) {}

FaultFileSystem::~FaultFileSystem() = default;

void FaultFileSystem::inject(const FileFault& fault) {
  const std::lock_guard lock(state_->mutex);
  state_->faults.push_back(fault);
}

void FaultFileSystem::clear() {
  const std::lock_guard lock(state_->mutex);
  state_->faults.clear();
  state_->calls.fill(0);
}

int64_t FaultFileSystem::calls(FileOperation operation) const {
  const std::lock_guard lock(state_->mutex);
  return state_->calls[static_cast<size_t>(operation)];
}

std::string FaultFileSystem::uriOf(std::string_view path) const {
  return store_->uriOf(path);
}

std::optional<FileInfo> FaultFileSystem::stat(const std::string& path) {
  return state_->run(FileOperation::Stat, "look at", path, [&] { return store_->stat(path); });
}

std::vector<FileInfo> FaultFileSystem::list(const std::string& directory) {
  return state_->run(FileOperation::List, "list", directory, [&] { return store_->list(directory); });
}

std::vector<FileInfo> FaultFileSystem::listFrom(const std::string& directory, std::string_view firstName) {
  return state_->run(FileOperation::List, "list", directory,
                     [&] { return store_->listFrom(directory, firstName); });
}

std::string FaultFileSystem::readAll(const std::string& path) {
  return state_->run(FileOperation::Read, "read", path, [&] { return store_->readAll(path); });
}

std::shared_ptr<arrow::io::RandomAccessFile> FaultFileSystem::openInput(const std::string& path) {
  return state_->run(FileOperation::Read, "open", path,
                     [&]() -> std::shared_ptr<arrow::io::RandomAccessFile> {
                       return std::make_shared<FaultInputFile>(store_->openInput(path), state_, path);
                     });
}

std::shared_ptr<arrow::io::OutputStream> FaultFileSystem::openOutput(const std::string& path) {
  return state_->run(FileOperation::OpenOutput, "create", path,
                     [&]() -> std::shared_ptr<arrow::io::OutputStream> {
                       return std::make_shared<FaultOutputStream>(store_->openOutput(path), state_, path);
                     });
}

void FaultFileSystem::writeAtomically(const std::string& path, std::string_view contents) {
  state_->run(FileOperation::WriteAtomically, "write", path,
              [&] { store_->writeAtomically(path, contents); });
}

PutOutcome FaultFileSystem::putIfAbsent(const std::string& path, std::string_view contents,
                                        const std::function<void()>& temporaryWritten) {
  const std::optional<FileFault> fault = state_->pass(FileOperation::PutIfAbsent);
  if (fault && !fault->afterEffect) throw storageError(fault->errorNumber, "create", path);
  const PutOutcome outcome = store_->putIfAbsent(path, contents, temporaryWritten);
  return fault ? PutOutcome::Unknown : outcome;
}

void FaultFileSystem::sync(const std::string& path) {
  state_->run(FileOperation::Sync, "sync", path, [&] { store_->sync(path); });
}

void FaultFileSystem::makeDirectories(const std::string& path) {
  state_->run(FileOperation::MakeDirectories, "make the folder", path,
              [&] { store_->makeDirectories(path); });
}

void FaultFileSystem::remove(const std::string& path) {
  state_->run(FileOperation::Remove, "delete", path, [&] { store_->remove(path); });
}

void FaultFileSystem::removeTree(const std::string& path) {
  state_->run(FileOperation::Remove, "delete", path, [&] { store_->removeTree(path); });
}

void FaultFileSystem::moveFile(const std::string& from, const std::string& to) {
  state_->run(FileOperation::Move, "move", from, [&] { thalweg::moveFile(*store_, from, to); });
}

}  // namespace thalweg
