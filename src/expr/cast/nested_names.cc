#include "expr/cast/nested_names.h"

#include <arrow/api.h>

#include "common/error.h"
#include "expr/call.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

bool isStruct(const DataType& type) {
  return type.id() == TypeId::Struct;
}

bool isArrayOfStructs(const DataType& type) {
  return type.id() == TypeId::Array && isStruct(*type.element());
}

Error mismatch(const DataType& from, const DataType& to) {
  return Error("DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION",
               "A value of type " + from.sqlString() + " cannot be assigned to " + to.sqlString() +
                   ": it must have the fields of the one that it is assigned to, all of them and no others.",
               {{"fromCatalog", from.simpleString()}, {"toCatalog", to.simpleString()}});
}

// The types of `from` under the names of `to`, in its order.
DataTypePtr placedType(const DataTypePtr& from, const DataTypePtr& to) {
  if (isArrayOfStructs(*from) && isArrayOfStructs(*to))
    return DataType::array(placedType(from->element(), to->element()), from->containsNull());
  if (!isStruct(*from) || !isStruct(*to)) return from;
  if (from->fields().size() != to->fields().size()) throw mismatch(*from, *to);
  std::vector<StructField> fields;
  for (const StructField& field : to->fields()) {
    const int index = from->fieldIndex(field.name, /*caseSensitive=*/false);
    if (index < 0) throw mismatch(*from, *to);
    const StructField& source = from->fields()[static_cast<size_t>(index)];
    fields.push_back({field.name, placedType(source.type, field.type), source.nullable});
  }
  return DataType::structOf(std::move(fields));
}

// Only the order of children changes: no value is copied.
std::shared_ptr<arrow::ArrayData> placed(const std::shared_ptr<arrow::ArrayData>& data, const DataType& from,
                                         const DataType& to) {
  if (!isStruct(from) && !isArrayOfStructs(from)) return data;
  const std::shared_ptr<arrow::ArrayData> result = data->Copy();
  result->type = toArrowType(to);
  if (!isStruct(from)) {
    result->child_data = {placed(data->child_data[0], *from.element(), *to.element())};
    return result;
  }
  result->child_data.clear();
  for (const StructField& field : to.fields()) {
    const auto index = static_cast<size_t>(from.fieldIndex(field.name, /*caseSensitive=*/false));
    result->child_data.push_back(placed(data->child_data[index], *from.fields()[index].type, *field.type));
  }
  return result;
}

}  // namespace

ExpressionPtr fieldsByName(const ExpressionPtr& value, const DataTypePtr& to) {
  const DataTypePtr from = value->type();
  const DataTypePtr type = placedType(from, to);
  if (equals(*from, *type)) return value;
  static const auto kTraits = std::make_shared<const FunctionTraits>(
      FunctionTraits{.name = "fields_by_name",
                     .format = [](const std::vector<std::string>& arguments) { return arguments[0]; }});
  const Kernel kernel = [from, type](const KernelContext& context,
                                     const std::vector<arrow::Datum>& arguments) {
    const arrow::Datum& input = arguments[0];
    const auto array = input.is_scalar()
                           ? valueOrThrow(arrow::MakeArrayFromScalar(*input.scalar(), context.numRows,
                                                                     context.evaluation.memoryPool()))
                           : input.make_array();
    return arrow::Datum(placed(array->data(), *from, *type));
  };
  return std::make_shared<Call>(kTraits, std::vector<ExpressionPtr>{value}, type, value->nullable(), kernel);
}

}  // namespace thalweg
