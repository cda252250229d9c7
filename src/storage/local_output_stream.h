// The output stream of local disk: a new file that Close makes durable.
#pragma once

#include <string>

#include <arrow/io/interfaces.h>

namespace thalweg {

// Used by one thread. Failures are statuses that name the path and what the system said; after one, Close
// does not succeed either, so that a file with a hole is never taken for whole.
class LocalOutputStream : public arrow::io::OutputStream {
 public:
  enum class DirectorySync { AtClose, Skip };

  // Opens or truncates the file; throws Error where that fails.
  LocalOutputStream(std::string path, DirectorySync directorySync);
  ~LocalOutputStream() override;

  arrow::Status Write(const void* data, int64_t size) override;
  arrow::Status Flush() override { return arrow::Status::OK(); }
  arrow::Status Close() override;
  arrow::Status Abort() override;
  arrow::Result<int64_t> Tell() const override { return position_; }
  bool closed() const override { return descriptor_ < 0; }

  using arrow::io::OutputStream::Write;

 private:
  arrow::Status fail(int errorNumber, std::string_view action);

  std::string path_;
  DirectorySync directorySync_;
  int descriptor_;
  int64_t position_ = 0;
  arrow::Status failure_;
};

// Makes a file's contents durable. 0, or errno's value.
int syncFile(int descriptor);
// Makes a directory's entries durable. 0, or errno's value.
int syncDirectory(const std::string& directory);

}  // namespace thalweg
