// Rows of state as the columns that a read asks for.
#pragma once

#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "columnar/binary_row.h"
#include "sources/state/state_rows.h"
#include "types/data_type.h"

namespace thalweg {

// What a table of state has, in the order of its columns.
enum class StateColumn { BatchId, ChangeType, Key, Value, PartitionId };

struct StateTableShape {
  std::vector<StateColumn> columns;
  SchemaPtr schema;  // a field for each
  SchemaPtr key;     // of the rows of keys
  SchemaPtr value;   // of the rows of values; the table's may lack the last columns
};

// Collects rows and makes record batches of them. Used by one thread; the shape outlives it. Rows are foreign
// bytes: those that are malformed throw as BinaryRowDecoder does.
class StateColumns {
 public:
  // `requested`: positions in the table's schema, each once; what nobody asks for is not decoded.
  StateColumns(const StateTableShape& shape, std::vector<int> requested, int32_t partition,
               arrow::MemoryPool* pool);
  void append(const StateRow& row);
  int64_t numRows() const { return numRows_; }
  int64_t numBytes() const { return numBytes_; }
  // The rows since the last call.
  std::shared_ptr<arrow::RecordBatch> finish();

 private:
  std::shared_ptr<arrow::Array> column(StateColumn which, const DataType& type);
  std::shared_ptr<arrow::Array> values(const DataType& type);
  bool asksFor(StateColumn which) const;

  const StateTableShape& shape_;
  std::vector<int> requested_;
  int32_t partition_;
  arrow::MemoryPool* pool_;
  bool wantsKeys_, wantsValues_;
  BinaryRowDecoder keys_, values_;
  std::vector<int64_t> valueOfRow_;  // its number among the values; −1: none
  std::vector<int64_t> batchIds_;
  int64_t numValues_ = 0, numRows_ = 0, numBytes_ = 0;
};

}  // namespace thalweg
