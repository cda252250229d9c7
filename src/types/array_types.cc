#include "types/array_types.h"

#include <arrow/array/data.h>
#include <arrow/type.h>

namespace thalweg {
namespace {

bool isStringLike(arrow::Type::type id) {
  return id == arrow::Type::STRING || id == arrow::Type::BINARY;
}

bool sameLeaf(const arrow::DataType& from, const arrow::DataType& to) {
  if (isStringLike(from.id()) && isStringLike(to.id())) return true;
  if (from.id() != to.id()) return false;
  if (from.id() == arrow::Type::TIMESTAMP) {
    return static_cast<const arrow::TimestampType&>(from).unit() ==
           static_cast<const arrow::TimestampType&>(to).unit();
  }
  return from.Equals(to);
}

}  // namespace

std::shared_ptr<arrow::ArrayData> retype(const std::shared_ptr<arrow::ArrayData>& data,
                                         const std::shared_ptr<arrow::DataType>& type) {
  if (data->type->Equals(*type, /*check_metadata=*/true)) return data;
  if (type->num_fields() == 0) {
    if (!sameLeaf(*data->type, *type)) return nullptr;
    auto copy = data->Copy();
    copy->type = type;
    return copy;
  }
  if (data->type->id() != type->id() || data->child_data.size() != static_cast<size_t>(type->num_fields())) {
    return nullptr;
  }
  auto copy = data->Copy();
  copy->type = type;
  for (int i = 0; i < type->num_fields(); ++i) {
    const auto child = static_cast<size_t>(i);
    copy->child_data[child] = retype(data->child_data[child], type->field(i)->type());
    if (!copy->child_data[child]) return nullptr;
  }
  return copy;
}

}  // namespace thalweg
