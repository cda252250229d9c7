// Writes the live rows of data files into new ones, with their ids where the table tracks rows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/cancellation.h"
#include "delta/actions/actions.h"
#include "delta/files/data_file_writer.h"
#include "delta/scan/data_file_reader.h"
#include "delta/snapshot/snapshot.h"

namespace thalweg::delta {

// Files that are not in the table until a commit names them. They are taken away again unless they were
// handed over to it: a commit that fails with an exception may be in the log all the same. Used by one
// thread.
class FileRewrite {
 public:
  // `cancellation` outlives it, null: none.
  explicit FileRewrite(const Snapshot& snapshot, const CancellationToken* cancellation = nullptr);
  ~FileRewrite();
  FileRewrite(const FileRewrite&) = delete;
  FileRewrite& operator=(const FileRewrite&) = delete;

  // The live rows of files of one partition, in their order, as one new file; nothing where every row is
  // deleted. `rowsOfFiles`, when given, gets the number of rows that each file gave. Throws as
  // movedRowsLayout and DataFileReader.
  std::optional<AddFile> merge(const std::vector<AddFile>& files, bool dataChange,
                               std::vector<int64_t>* rowsOfFiles = nullptr);

  const std::vector<AddFile>& written() const { return written_; }
  int64_t numRowsWritten() const { return numRows_; }
  void handOver() { handedOver_ = true; }
  // For files that are certainly in no commit.
  void discard() noexcept;
  // For one of them.
  void discard(const AddFile& file) noexcept;

 private:
  Metadata metadata_;
  Protocol protocol_;
  TableLayoutPtr readLayout_;
  std::optional<DataFileLayout> writeLayout_;  // made when there is something to write
  DataFileReadOptions options_;
  std::vector<AddFile> written_;
  int64_t numRows_ = 0;
  bool handedOver_ = false;
};

}  // namespace thalweg::delta
