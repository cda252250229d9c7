// Sessions of rows: [start, end) in microseconds, and the rule by which they are one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>

#include "types/data_type.h"

namespace thalweg {

// Sessions by number.
struct Sessions {
  std::vector<int64_t> starts, ends;

  size_t size() const { return starts.size(); }
  // Appends the windows of a column, struct<start, end> without nulls.
  void append(const arrow::Array& windows);
  // Some of them as a column of windows of the type.
  std::shared_ptr<arrow::Array> column(const DataType& type, std::span<const uint32_t> numbers) const;
};

// What became of sessions that touched: the running values of from[i] go into to[i], in this order.
struct SessionMerges {
  std::vector<uint32_t> from, to;
};

// Sessions of one key, in order of their starts: one that begins no later than those before it end goes into
// the first of them, whose end grows. Appends to `merges`, and the sessions that are left to `left`.
void mergeTouching(std::span<const uint32_t> ofKey, Sessions* sessions, SessionMerges* merges,
                   std::vector<uint32_t>* left);

}  // namespace thalweg
