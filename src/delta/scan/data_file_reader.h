// The live rows of one data file under the table's schema.
#pragma once

#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "common/cancellation.h"
#include "delta/actions/actions.h"
#include "delta/scan/table_layout.h"
#include "formats/parquet/parquet_file.h"

namespace thalweg::delta {

struct DataFileReadOptions {
  std::vector<int> columns;  // indexes into the table's schema, in the order wanted; empty: row counts only
  int64_t batchRows = 65536;
  arrow::MemoryPool* memoryPool = nullptr;
  const CancellationToken* cancellation = nullptr;
  // Where given: the rows at these positions, in place of those that the deletion vector leaves (how readers
  // of changes see a vector that a commit changed).
  std::shared_ptr<const DeletedRows> onlyRows = nullptr;
  // One more column at the end, `row_index`: each row's position in the file (long).
  bool rowPositions = false;
  // Two more, after that one: `row_id` and `row_commit_version` (long), as files of tables that track rows
  // have them; null where nothing says what they are.
  bool rowIds = false;
};

// Partition columns are filled in from the log, columns that the file lacks are null, rows of its deletion
// vector left out. Used by one thread.
class DataFileReader {
 public:
  DataFileReader(TableLayoutPtr layout, AddFile file, DataFileReadOptions options);

  // Null at the end. Throws Error FAILED_READ_FILE.…, DELTA_DELETION_VECTOR_…, OPERATION_CANCELED.
  std::shared_ptr<arrow::RecordBatch> next();

 private:
  std::shared_ptr<arrow::Int64Array> wantedRows(int64_t first, int64_t count) const;
  std::shared_ptr<arrow::RecordBatch> assemble(const arrow::RecordBatch& stored,
                                               const std::shared_ptr<arrow::Array>& positions) const;

  TableLayoutPtr layout_;
  AddFile file_;
  DataFileReadOptions options_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<int>
      storedColumns_;  // per wanted column: its place among the stored ones, −1 for partition columns
  std::vector<std::shared_ptr<arrow::Scalar>> partitionValues_;  // per wanted column; null for stored ones
  int storedRowIds_ = -1;  // the place of stored row ids, their versions next to it; −1: none
  std::shared_ptr<const DeletedRows> deleted_;
  std::unique_ptr<ParquetFileReader> reader_;
};

}  // namespace thalweg::delta
