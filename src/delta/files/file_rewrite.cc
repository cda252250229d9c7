#include "delta/files/file_rewrite.h"

#include <arrow/record_batch.h>

#include "delta/files/row_tracking.h"

namespace thalweg::delta {

FileRewrite::FileRewrite(const Snapshot& snapshot, const CancellationToken* cancellation)
    : metadata_(snapshot.metadata()), protocol_(snapshot.protocol()), readLayout_(makeTableLayout(snapshot)) {
  options_.cancellation = cancellation;
  for (int i = 0; i < static_cast<int>(snapshot.schema()->fields().size()); ++i) {
    if (!readLayout_->isPartitionColumn(i)) options_.columns.push_back(i);
  }
}

FileRewrite::~FileRewrite() {
  if (!handedOver_) discard();
}

std::optional<AddFile> FileRewrite::merge(const std::vector<AddFile>& files, bool dataChange,
                                          std::vector<int64_t>* rowsOfFiles) {
  if (!writeLayout_) {
    writeLayout_ = movedRowsLayout(readLayout_->table, metadata_, protocol_);
    options_.rowIds = writeLayout_->hasRowIds;
  }
  DataFileWriter writer(*writeLayout_, files.front().partitionValues, static_cast<int>(written_.size()));
  for (const AddFile& file : files) {
    const int64_t before = writer.numRows();
    DataFileReader reader(readLayout_, file, options_);
    while (const auto rows = reader.next()) {
      if (rows->num_rows() > 0) writer.write(*rows);
    }
    if (rowsOfFiles) rowsOfFiles->push_back(writer.numRows() - before);
  }
  std::optional<AddFile> merged = writer.close();
  if (!merged) return std::nullopt;
  numRows_ += writer.numRows();
  merged->dataChange = dataChange;
  written_.push_back(*merged);
  return merged;
}

void FileRewrite::discard() noexcept {
  removeUncommitted(readLayout_->table, written_);
  written_.clear();
}

void FileRewrite::discard(const AddFile& file) noexcept {
  removeUncommitted(readLayout_->table, {file});
  std::erase_if(written_, [&](const AddFile& written) { return written.path == file.path; });
}

}  // namespace thalweg::delta
