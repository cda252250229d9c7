// Writes the rows of one task into data files, one or more a partition.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "columnar/value_groups.h"
#include "delta/files/data_file_writer.h"

namespace thalweg::delta {

// Rows of a batch that became the next rows of a data file.
struct PlacedRows {
  const std::string& logPath;
  const std::vector<int64_t>*
      rows;           // their numbers in the batch, in order; null: [first, first + count) of the batch
  int64_t first = 0;  // of `rows`, or of the batch
  int64_t count = 0;
};
using PlacedRowsVisitor = std::function<void(const PlacedRows&)>;

// Used by one thread. Holds few files open: beyond the layout's bounds the one with the most bytes in hand is
// closed, and its partition's next rows start another file.
class PartitionedWriter {
 public:
  PartitionedWriter(const DataFileLayout& layout, int taskId);
  ~PartitionedWriter();

  // All columns of the table in its order and types. `placed`, where there is one, is told where each row
  // went.
  void write(const std::shared_ptr<arrow::RecordBatch>& rows, const PlacedRowsVisitor& placed = {});
  // Closes what is open. The files of all partitions, in the order they were finished.
  std::vector<AddFile> close();
  // Removes the files finished so far; open ones go with the writer.
  void abort() noexcept;

 private:
  using Key = std::vector<std::optional<std::string>>;

  Key keyOf(const arrow::RecordBatch& rows, int64_t row) const;
  void writeInto(const Key& key, const ValueGroup& group, const arrow::RecordBatch& rows,
                 const PlacedRowsVisitor& placed);
  void closeWriter(const Key& key);
  void keepBounds();

  const DataFileLayout& layout_;
  int taskId_;
  std::vector<int> partitionIndexes_;  // into the table's schema, in partition order
  std::vector<int> dataIndexes_;
  std::map<Key, std::unique_ptr<DataFileWriter>> open_;
  std::vector<AddFile> finished_;
};

}  // namespace thalweg::delta
