#include "sources/state/state_columns.h"

#include <algorithm>

#include <arrow/api.h>
#include <arrow/compute/api_vector.h>

#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {

StateColumns::StateColumns(const StateTableShape& shape, std::vector<int> requested, int32_t partition,
                           arrow::MemoryPool* pool)
    : shape_(shape),
      requested_(std::move(requested)),
      partition_(partition),
      pool_(pool),
      wantsKeys_(asksFor(StateColumn::Key)),
      wantsValues_(asksFor(StateColumn::Value)),
      keys_(fieldTypes(*shape.key), BinaryRowDecoder::Role::Key, pool),
      values_(fieldTypes(*shape.value), BinaryRowDecoder::Role::Value, pool) {}

bool StateColumns::asksFor(StateColumn which) const {
  return std::ranges::any_of(
      requested_, [&](int position) { return shape_.columns[static_cast<size_t>(position)] == which; });
}

void StateColumns::append(const StateRow& row) {
  if (wantsKeys_) keys_.append({&row.key, 1});
  numBytes_ += static_cast<int64_t>(row.key.size());
  if (row.value) {
    if (wantsValues_) values_.append({&*row.value, 1});
    numBytes_ += static_cast<int64_t>(row.value->size());
  }
  valueOfRow_.push_back(row.value ? numValues_++ : -1);
  batchIds_.push_back(row.batchId);
  ++numRows_;
}

std::shared_ptr<arrow::RecordBatch> StateColumns::finish() {
  arrow::FieldVector fields;
  std::vector<std::shared_ptr<arrow::Array>> columns;
  for (const int position : requested_) {
    const StructField& field = shape_.schema->fields()[static_cast<size_t>(position)];
    fields.push_back(toArrowField(field));
    columns.push_back(column(shape_.columns[static_cast<size_t>(position)], *field.type));
  }
  auto batch = arrow::RecordBatch::Make(arrow::schema(fields), numRows_, columns);
  valueOfRow_.clear();
  batchIds_.clear();
  numValues_ = numRows_ = numBytes_ = 0;
  return batch;
}

std::shared_ptr<arrow::Array> StateColumns::column(StateColumn which, const DataType& type) {
  switch (which) {
    case StateColumn::Key:
      return std::make_shared<arrow::StructArray>(toArrowType(type), numRows_, keys_.finish());
    case StateColumn::Value:
      return values(type);
    case StateColumn::PartitionId:
      return valueOrThrow(arrow::MakeArrayFromScalar(arrow::Int32Scalar(partition_), numRows_, pool_));
    case StateColumn::BatchId: {
      arrow::Int64Builder builder(pool_);
      throwIfFailed(builder.AppendValues(batchIds_));
      return valueOrThrow(builder.Finish());
    }
    case StateColumn::ChangeType: {
      arrow::StringBuilder builder(pool_);
      for (const int64_t value : valueOfRow_) throwIfFailed(builder.Append(value < 0 ? "delete" : "update"));
      return valueOrThrow(builder.Finish());
    }
  }
  return nullptr;
}

std::shared_ptr<arrow::Array> StateColumns::values(const DataType& type) {
  std::vector<std::shared_ptr<arrow::Array>> fields = values_.finish();
  fields.resize(type.fields().size());
  auto present = std::make_shared<arrow::StructArray>(toArrowType(type), numValues_, std::move(fields));
  if (numValues_ == numRows_) return present;
  arrow::Int64Builder positions(pool_);
  for (const int64_t value : valueOfRow_)
    throwIfFailed(value < 0 ? positions.AppendNull() : positions.Append(value));
  arrow::compute::ExecContext context(pool_);
  return valueOrThrow(arrow::compute::Take(arrow::Datum(present),
                                           arrow::Datum(valueOrThrow(positions.Finish())),
                                           arrow::compute::TakeOptions::NoBoundsCheck(), &context))
      .make_array();
}

}  // namespace thalweg
