// Casts between arrays, maps and structs, part by part.
#include <arrow/api.h>
#include <arrow/util/bitmap_ops.h>

#include "expr/cast/kernels.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

// Rows of nested parts have no selection of their own: under ANSI every value inside must fit.
ArrayPtr castPart(const ArrayPtr& part, const DataType& from, const DataType& to, const CastKernelContext& context) {
  return castKernel(part, from, to, CastKernelContext{context.mode, Selection::all(part->length()), context.evaluation});
}

}  // namespace

ArrayPtr castNested(const ArrayPtr& input, const DataType& from, const DataType& to, const CastKernelContext& context) {
  const std::shared_ptr<arrow::ArrayData> data = input->data()->Copy();
  data->type = toArrowType(to);
  switch (to.id()) {
    case TypeId::Array: {
      const auto& list = static_cast<const arrow::ListArray&>(*input);
      data->child_data = {castPart(list.values(), *from.element(), *to.element(), context)->data()};
      break;
    }
    case TypeId::Map: {
      const auto& map = static_cast<const arrow::MapArray&>(*input);
      const ArrayPtr keys = castPart(map.keys(), *from.key(), *to.key(), context);
      const ArrayPtr items = castPart(map.items(), *from.value(), *to.value(), context);
      const auto& entryType = static_cast<const arrow::MapType&>(*data->type).value_type();
      data->child_data = {arrow::ArrayData::Make(entryType, keys->length(), {nullptr}, {keys->data(), items->data()}, 0)};
      break;
    }
    default: {
      const auto& values = static_cast<const arrow::StructArray&>(*input);
      std::vector<std::shared_ptr<arrow::ArrayData>> children;
      for (size_t i = 0; i < to.fields().size(); ++i) {
        children.push_back(
            castPart(values.field(static_cast<int>(i)), *from.fields()[i].type, *to.fields()[i].type, context)->data());
      }
      // The children carry the struct's offset already.
      return arrow::MakeArray(arrow::ArrayData::Make(data->type, input->length(),
                                                     {input->null_count() ? valueOrThrow(arrow::internal::CopyBitmap(
                                                                                 context.evaluation.memoryPool(), input->null_bitmap_data(),
                                                                                 input->offset(), input->length()))
                                                                          : nullptr},
                                                     std::move(children), input->null_count(), 0));
    }
  }
  return arrow::MakeArray(data);
}

}  // namespace thalweg
