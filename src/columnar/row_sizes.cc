#include "columnar/row_sizes.h"

#include <arrow/api.h>
#include <arrow/util/byte_size.h>

namespace thalweg {

std::vector<int64_t> rowSizes(const arrow::RecordBatch& batch) {
  const int64_t count = batch.num_rows();
  std::vector<int64_t> sizes(static_cast<size_t>(count));
  if (count == 0) return sizes;
  for (const auto& column : batch.columns()) {
    if (arrow::is_base_binary_like(column->type_id()) && !arrow::is_large_binary_like(column->type_id())) {
      const auto& values = static_cast<const arrow::BinaryArray&>(*column);
      for (int64_t row = 0; row < count; ++row)
        sizes[static_cast<size_t>(row)] += static_cast<int64_t>(sizeof(int32_t)) + values.value_length(row);
      continue;
    }
    const int64_t average = arrow::util::TotalBufferSize(*column) / std::max<int64_t>(column->length(), 1);
    for (int64_t& size : sizes) size += average;
  }
  return sizes;
}

}  // namespace thalweg
