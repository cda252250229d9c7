// Chosen columns of a Parquet file in Arrow's own types, in batches: for checkpoints.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "formats/parquet/parquet_file.h"
#include "storage/file_system.h"

namespace thalweg {

enum class NullColumns {
  Keep,
  // Leaves outside of lists and maps are not decoded in row groups where they are, by the statistics, null in
  // all rows: batches differ in their columns, and a struct of which no leaf is left is missing.
  LeaveOut,
};

// As readParquetTable, batch after batch: memory is a batch and the pages being decoded. Used by one thread;
// next() throws as readParquetTable.
class ParquetColumnStream {
 public:
  // `keepRowGroup` false: the row group is left out; its columns are those at and below `boundColumns`, by
  // the dotted paths of their leaves. Called once a row group, in order.
  ParquetColumnStream(FileSystem& fileSystem, std::string path, const std::vector<std::string>& columns,
                      int64_t batchRows = 16384,
                      std::function<bool(const ParquetRowGroup&)> keepRowGroup = {},
                      const std::vector<std::string>& boundColumns = {},
                      NullColumns nullColumns = NullColumns::Keep);
  ~ParquetColumnStream();

  // Of the file.
  int64_t numRows() const;
  // Position in the file of the last batch's first row.
  int64_t firstRowIndex() const;
  // Null at the end, and where the file has none of the columns.
  std::shared_ptr<arrow::RecordBatch> next();

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace thalweg
