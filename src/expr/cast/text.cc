// Casts to strings.
#include <arrow/api.h>

#include "common/error.h"
#include "expr/cast/kernels.h"
#include "expr/cast/value_text.h"
#include "types/arrow_result.h"

namespace thalweg {

ArrayPtr castToText(const ArrayPtr& input, const DataType& from, const CastKernelContext& context) {
  // Bytes become text as they are: no kernel relies on valid UTF-8.
  if (from.id() == TypeId::Binary) return valueOrThrow(input->View(arrow::utf8()));
  const ValueText text(from, context.evaluation.batch->timeZone);
  arrow::StringBuilder builder(context.evaluation.memoryPool());
  std::string buffer;
  for (int64_t row = 0; row < input->length(); ++row) {
    if (input->IsNull(row)) {
      throwIfFailed(builder.AppendNull());
      continue;
    }
    buffer.clear();
    text.append(*input, row, &buffer);
    throwIfFailed(builder.Append(buffer));
  }
  return valueOrThrow(builder.Finish());
}

}  // namespace thalweg
