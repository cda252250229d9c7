#include "exec/state/aggregate_state_layout.h"

#include <numeric>

#include <arrow/api.h>

namespace thalweg {
namespace {

std::vector<StructField> bufferFieldsOf(const Aggregates& aggregates) {
  std::vector<StructField> fields;
  for (const auto& aggregator : makeAggregators(aggregates)) {
    for (const StructField& field : aggregator->bufferFields()) fields.push_back(field);
  }
  return fields;
}

}  // namespace

std::vector<std::optional<int64_t>> EventTimeKey::timesOf(
    const std::vector<std::shared_ptr<arrow::Array>>& keys) const {
  std::shared_ptr<arrow::Array> column = keys[this->column];
  if (isWindow) column = static_cast<const arrow::StructArray&>(*column).field(1);
  const auto& micros = static_cast<const arrow::TimestampArray&>(*column);
  std::vector<std::optional<int64_t>> times(static_cast<size_t>(micros.length()));
  for (int64_t row = 0; row < micros.length(); ++row) {
    if (micros.IsValid(row)) times[static_cast<size_t>(row)] = micros.Value(row);
  }
  return times;
}

TimeWindowSpec WindowPanes::panes() const {
  const int64_t length = std::gcd(windows.duration, windows.slide);
  return {length, length, windows.start % length};
}

// Times at the ends of the range wrap around, as those of the windows of rows do.
std::vector<int64_t> WindowPanes::windowsOf(int64_t paneStart) const {
  std::vector<int64_t> starts;
  const int64_t last = lastWindowStart(paneStart, windows);
  for (uint64_t start = static_cast<uint64_t>(last);
       static_cast<uint64_t>(paneStart) - start < static_cast<uint64_t>(windows.duration);
       start -= static_cast<uint64_t>(windows.slide))
    starts.push_back(static_cast<int64_t>(start));
  return starts;
}

AggregateStateLayout::AggregateStateLayout(std::vector<StructField> keys, Aggregates calls, std::optional<EventTimeKey> time,
                                 std::optional<WindowPanes> windowPanes)
    : keyFields(std::move(keys)),
      keyTypes(fieldTypes(*DataType::structOf(keyFields))),
      valueFields(bufferFieldsOf(calls)),
      valueTypes(fieldTypes(*DataType::structOf(valueFields))),
      aggregates(std::move(calls)),
      eventTime(time),
      panes(windowPanes),
      keyEncoder(keyTypes, BinaryRowEncoder::Floats::Normalize),
      valueEncoder(valueTypes) {}

}  // namespace thalweg
