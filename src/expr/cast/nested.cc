// Casts between arrays, maps and structs, part by part.
#include <arrow/api.h>
#include <arrow/util/bitmap_ops.h>

#include "columnar/list_values.h"
#include "expr/cast/kernels.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

// The elements of selected lists: under ANSI only they must fit. The lists are whole (withUsedValuesOnly).
CastKernelContext elementContext(const arrow::ListArray& lists, const CastKernelContext& context) {
  const int64_t length = lists.values()->length();
  if (context.selection.isAll() || context.mode != CastMode::Ansi) {
    return {context.mode, Selection::all(length), context.evaluation};
  }
  std::vector<int32_t> rows;
  context.selection.forEach([&](int64_t row) {
    if (lists.IsNull(row)) return;
    for (int32_t element = lists.value_offset(row); element < lists.value_offset(row + 1); ++element) rows.push_back(element);
  });
  return {context.mode, Selection::of(length, std::move(rows)), context.evaluation};
}

// The fields of selected structs that are not null: what a null struct hides is no value.
CastKernelContext fieldContext(const arrow::StructArray& structs, const CastKernelContext& context) {
  if (structs.null_count() == 0 || context.mode != CastMode::Ansi) return context;
  std::vector<int32_t> rows;
  context.selection.forEach([&](int64_t row) {
    if (structs.IsValid(row)) rows.push_back(static_cast<int32_t>(row));
  });
  return {context.mode, Selection::of(structs.length(), std::move(rows)), context.evaluation};
}

}  // namespace

ArrayPtr castNested(const ArrayPtr& input, const DataType& from, const DataType& to, const CastKernelContext& context) {
  const bool hasElements = to.id() == TypeId::Array || to.id() == TypeId::Map;
  const ArrayPtr used = hasElements ? withUsedValuesOnly(input, context.evaluation.memoryPool()) : input;
  const std::shared_ptr<arrow::ArrayData> data = used->data()->Copy();
  data->type = toArrowType(to);
  switch (to.id()) {
    case TypeId::Array: {
      const auto& list = static_cast<const arrow::ListArray&>(*used);
      const CastKernelContext elements = elementContext(list, context);
      data->child_data = {castKernel(list.values(), *from.element(), *to.element(), elements)->data()};
      break;
    }
    case TypeId::Map: {
      const auto& map = static_cast<const arrow::MapArray&>(*used);
      const CastKernelContext entries = elementContext(map, context);
      const ArrayPtr keys = castKernel(map.keys(), *from.key(), *to.key(), entries);
      const ArrayPtr items = castKernel(map.items(), *from.value(), *to.value(), entries);
      const auto& entryType = static_cast<const arrow::MapType&>(*data->type).value_type();
      data->child_data = {arrow::ArrayData::Make(entryType, keys->length(), {nullptr}, {keys->data(), items->data()}, 0)};
      break;
    }
    default: {
      const auto& values = static_cast<const arrow::StructArray&>(*input);
      const CastKernelContext fields = fieldContext(values, context);
      std::vector<std::shared_ptr<arrow::ArrayData>> children;
      for (size_t i = 0; i < to.fields().size(); ++i) {
        children.push_back(
            castKernel(values.field(static_cast<int>(i)), *from.fields()[i].type, *to.fields()[i].type, fields)->data());
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
