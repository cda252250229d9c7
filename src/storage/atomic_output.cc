// The output stream of stores that publish whole files only from memory.
#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include "common/error.h"
#include "storage/file_system.h"

namespace thalweg {
namespace {

class WholeFileStream : public arrow::io::OutputStream {
 public:
  WholeFileStream(FileSystem& fileSystem, std::string path)
      : fileSystem_(fileSystem), path_(std::move(path)) {}

  arrow::Status Write(const void* data, int64_t size) override {
    if (closed_) return arrow::Status::Invalid("write to the closed file ", path_);
    contents_.append(static_cast<const char*>(data), static_cast<size_t>(size));
    return arrow::Status::OK();
  }
  arrow::Status Flush() override { return arrow::Status::OK(); }
  arrow::Status Close() override {
    if (closed_) return arrow::Status::OK();
    closed_ = true;
    try {
      fileSystem_.writeAtomically(path_, contents_);
    } catch (const Error& error) {
      return arrow::Status::IOError(error.text());
    }
    return arrow::Status::OK();
  }
  arrow::Status Abort() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  arrow::Result<int64_t> Tell() const override { return static_cast<int64_t>(contents_.size()); }
  bool closed() const override { return closed_; }
  using arrow::io::OutputStream::Write;

 private:
  FileSystem& fileSystem_;
  std::string path_;
  std::string contents_;
  bool closed_ = false;
};

}  // namespace

std::shared_ptr<arrow::io::OutputStream> FileSystem::openAtomicOutput(const std::string& path) {
  return std::make_shared<WholeFileStream>(*this, path);
}

}  // namespace thalweg
