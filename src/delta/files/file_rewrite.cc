#include "delta/files/file_rewrite.h"

#include <arrow/record_batch.h>

namespace thalweg::delta {

FileRewrite::FileRewrite(const Snapshot& snapshot)
    : readLayout_(makeTableLayout(snapshot.table(), snapshot.metadata(), snapshot.schema())),
      writeLayout_(makeDataFileLayout(snapshot.table(), snapshot.metadata(), snapshot.protocol())) {
  for (int i = 0; i < static_cast<int>(snapshot.schema()->fields().size()); ++i) {
    if (!readLayout_->isPartitionColumn(i)) options_.columns.push_back(i);
  }
}

FileRewrite::~FileRewrite() {
  if (!handedOver_) discard();
}

std::optional<AddFile> FileRewrite::merge(const std::vector<AddFile>& files, bool dataChange) {
  DataFileWriter writer(writeLayout_, files.front().partitionValues, static_cast<int>(written_.size()));
  for (const AddFile& file : files) {
    DataFileReader reader(readLayout_, file, options_);
    while (const auto rows = reader.next()) {
      if (rows->num_rows() > 0) writer.write(*rows);
    }
  }
  std::optional<AddFile> merged = writer.close();
  if (!merged) return std::nullopt;
  numRows_ += writer.numRows();
  merged->dataChange = dataChange;
  written_.push_back(*merged);
  return merged;
}

void FileRewrite::discard() noexcept {
  removeUncommitted(writeLayout_.table, written_);
  written_.clear();
}

}  // namespace thalweg::delta
