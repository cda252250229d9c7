#include "columnar/value_groups.h"

#include <unordered_map>

#include <arrow/array.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/initialize.h>
#include <arrow/record_batch.h>

#include "types/arrow_result.h"

namespace thalweg {
namespace {

void initializeCompute() {
  static const arrow::Status status = arrow::compute::Initialize();
  throwIfFailed(status);
}

// Numbers rows by the value of one column; equal values, nulls included, get one number.
std::shared_ptr<arrow::Int32Array> codesOf(const std::shared_ptr<arrow::Array>& column) {
  initializeCompute();
  const arrow::compute::DictionaryEncodeOptions options(arrow::compute::DictionaryEncodeOptions::ENCODE);
  const arrow::Datum encoded = valueOrThrow(arrow::compute::DictionaryEncode(column, options));
  const auto dictionary = std::static_pointer_cast<arrow::DictionaryArray>(encoded.make_array());
  return std::static_pointer_cast<arrow::Int32Array>(dictionary->indices());
}

// Refines groups of rows by one more column's codes; group numbers stay dense, in order of first appearance.
void refine(std::vector<int32_t>& groups, const arrow::Int32Array& codes, std::vector<int64_t>& firstRows) {
  std::unordered_map<uint64_t, int32_t> numbers;
  firstRows.clear();
  uint64_t lastKey = ~uint64_t{0};
  int32_t lastNumber = 0;
  for (size_t row = 0; row < groups.size(); ++row) {
    const uint64_t key = uint64_t{static_cast<uint32_t>(groups[row])} << 32 |
                         static_cast<uint32_t>(codes.Value(static_cast<int64_t>(row)));
    if (key != lastKey) {
      const auto [it, inserted] = numbers.try_emplace(key, static_cast<int32_t>(numbers.size()));
      if (inserted) firstRows.push_back(static_cast<int64_t>(row));
      lastKey = key;
      lastNumber = it->second;
    }
    groups[row] = lastNumber;
  }
}

}  // namespace

std::vector<ValueGroup> groupByValues(const arrow::RecordBatch& rows, const std::vector<int>& columns) {
  std::vector<int32_t> numbers(columns.empty() ? 0 : static_cast<size_t>(rows.num_rows()), 0);
  std::vector<int64_t> firstRows = {0};
  for (const int column : columns) refine(numbers, *codesOf(rows.column(column)), firstRows);
  std::vector<ValueGroup> groups(firstRows.size());
  for (size_t group = 0; group < groups.size(); ++group) groups[group].firstRow = firstRows[group];
  if (groups.size() > 1) {
    for (size_t row = 0; row < numbers.size(); ++row)
      groups[static_cast<size_t>(numbers[row])].rows.push_back(static_cast<int64_t>(row));
  }
  return groups;
}

std::shared_ptr<arrow::RecordBatch> rowsOfGroup(const std::shared_ptr<arrow::RecordBatch>& rows,
                                                const ValueGroup& group) {
  if (group.rows.empty()) return rows;
  const arrow::Int64Array indexes(static_cast<int64_t>(group.rows.size()), arrow::Buffer::Wrap(group.rows));
  const arrow::Datum taken =
      valueOrThrow(arrow::compute::Take(rows, indexes.data(), arrow::compute::TakeOptions::NoBoundsCheck()));
  return taken.record_batch();
}

}  // namespace thalweg
