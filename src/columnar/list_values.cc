#include "columnar/list_values.h"

#include <arrow/array.h>
#include <arrow/buffer_builder.h>
#include <arrow/util/bitmap_ops.h>

#include "types/arrow_result.h"

namespace thalweg {
namespace {

bool hidesValues(const arrow::ListArray& lists) {
  if (lists.null_count() == 0) return false;
  for (int64_t row = 0; row < lists.length(); ++row) {
    if (lists.IsNull(row) && lists.value_length(row) > 0) return true;
  }
  return false;
}

}  // namespace

std::shared_ptr<arrow::Array> withUsedValuesOnly(const std::shared_ptr<arrow::Array>& array, arrow::MemoryPool* pool) {
  const auto& lists = static_cast<const arrow::ListArray&>(*array);
  const int64_t first = lists.length() > 0 ? lists.value_offset(0) : 0;
  const int64_t end = lists.length() > 0 ? lists.value_offset(lists.length()) : 0;
  const bool hides = hidesValues(lists);
  if (!hides && lists.offset() == 0 && first == 0 && end == lists.values()->length()) return array;

  const auto values = hides ? valueOrThrow(lists.Flatten(pool)) : lists.values()->Slice(first, end - first);
  arrow::TypedBufferBuilder<int32_t> offsets(pool);
  throwIfFailed(offsets.Reserve(lists.length() + 1));
  int32_t position = 0;
  offsets.UnsafeAppend(position);
  for (int64_t row = 0; row < lists.length(); ++row) {
    if (lists.IsValid(row)) position += lists.value_length(row);
    offsets.UnsafeAppend(position);
  }
  std::shared_ptr<arrow::Buffer> validity;
  if (lists.null_count() > 0) {
    validity = valueOrThrow(
        arrow::internal::CopyBitmap(pool, lists.null_bitmap_data(), lists.offset(), lists.length()));
  }
  return arrow::MakeArray(arrow::ArrayData::Make(lists.type(), lists.length(),
                                                 {validity, valueOrThrow(offsets.Finish())}, {values->data()},
                                                 lists.null_count()));
}

}  // namespace thalweg
