// Writes change data files: what delta.enableChangeDataFeed promises to readers of a table's changes.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "delta/actions/actions.h"
#include "delta/files/partitioned_writer.h"

namespace thalweg::delta {

// The values of kChangeTypeColumn.
inline constexpr std::string_view kChangeInsert = "insert";
inline constexpr std::string_view kChangeDelete = "delete";
inline constexpr std::string_view kChangePreimage = "update_preimage";
inline constexpr std::string_view kChangePostimage = "update_postimage";

// Used by one thread. A writer that is dropped before finish() leaves nothing behind.
class ChangeWriter {
 public:
  // `dataFiles` is how the table's own files are written.
  ChangeWriter(const DataFileLayout& dataFiles, int taskId);
  ~ChangeWriter();

  // All columns of the table; what became of them, the same for all or a text for each.
  void write(const std::shared_ptr<arrow::RecordBatch>& rows, std::string_view type);
  void write(const std::shared_ptr<arrow::RecordBatch>& rows, std::shared_ptr<arrow::Array> types);
  // The files, durable.
  std::vector<AddFile> finish();

 private:
  DataFileLayout layout_;
  PartitionedWriter writer_;
  bool finished_ = false;
};

std::vector<Action> changeActions(const std::vector<AddFile>& files);

}  // namespace thalweg::delta
