#include "exec/operators/sessions.h"

#include <algorithm>

#include <arrow/api.h>

#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {

void Sessions::append(const arrow::Array& windows) {
  const auto& bounds = static_cast<const arrow::StructArray&>(windows);
  const auto startColumn = bounds.field(0), endColumn = bounds.field(1);
  const auto& newStarts = static_cast<const arrow::TimestampArray&>(*startColumn);
  const auto& newEnds = static_cast<const arrow::TimestampArray&>(*endColumn);
  for (int64_t row = 0; row < windows.length(); ++row) {
    starts.push_back(newStarts.Value(row));
    ends.push_back(newEnds.Value(row));
  }
}

std::shared_ptr<arrow::Array> Sessions::column(const DataType& type,
                                               std::span<const uint32_t> numbers) const {
  const auto arrowType = toArrowType(type);
  const auto& bound = static_cast<const arrow::StructType&>(*arrowType).field(0)->type();
  arrow::TimestampBuilder begins(bound, arrow::default_memory_pool()),
      stops(bound, arrow::default_memory_pool());
  for (const uint32_t number : numbers) {
    throwIfFailed(begins.Append(starts[number]));
    throwIfFailed(stops.Append(ends[number]));
  }
  arrow::ArrayVector bounds = {valueOrThrow(begins.Finish()), valueOrThrow(stops.Finish())};
  return std::make_shared<arrow::StructArray>(arrowType, static_cast<int64_t>(numbers.size()),
                                              std::move(bounds));
}

void mergeTouching(std::span<const uint32_t> ofKey, Sessions* sessions, SessionMerges* merges,
                   std::vector<uint32_t>* left) {
  for (size_t i = 0; i < ofKey.size(); ++i) {
    const uint32_t session = ofKey[i];
    if (i > 0 && sessions->starts[session] <= sessions->ends[left->back()]) {
      merges->from.push_back(session);
      merges->to.push_back(left->back());
      int64_t& end = sessions->ends[left->back()];
      end = std::max(end, sessions->ends[session]);
    } else {
      left->push_back(session);
    }
  }
}

}  // namespace thalweg
