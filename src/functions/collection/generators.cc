// Generators: rows made of an array's elements, a map's entries, or a list of values.

#include <arrow/api.h>

#include "columnar/list_values.h"
#include "common/error.h"
#include "expr/generator.h"
#include "functions/coercion.h"
#include "functions/signature.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

using Arrays = std::vector<std::shared_ptr<arrow::Array>>;

std::string withoutOuter(std::string name) {
  if (name.ends_with("_outer")) name.resize(name.size() - 6);
  return name;
}

[[noreturn]] void refuseArgument(const FunctionCall& call, const std::string& wanted) {
  const Expression& argument = *call.arguments[0];
  const std::string text = withoutOuter(toLowerAscii(call.name)) + "(" + argument.toString() + ")";
  throw Error("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
              std::string(call.name) + " takes " + wanted + ", but '" + argument.toString() + "' is " +
                  argument.type()->sqlString() + ".",
              {{"sqlExpr", "\"" + text + "\""},
               {"paramIndex", "first"},
               {"inputSql", "\"" + argument.toString() + "\""},
               {"inputType", "\"" + argument.type()->sqlString() + "\""},
               {"requiredType", wanted}});
}

// Lists (or maps) whose rows' values follow each other, the row and the place in its list of each value.
struct Elements {
  std::shared_ptr<arrow::Array> values;
  std::vector<int32_t> rows;
  std::vector<int32_t> places;
};

Elements elementsOf(const std::shared_ptr<arrow::Array>& column, arrow::MemoryPool* pool) {
  Elements elements;
  const auto used = withUsedValuesOnly(column, pool);
  const auto& lists = static_cast<const arrow::ListArray&>(*used);
  elements.values = lists.values();
  elements.rows.reserve(static_cast<size_t>(elements.values->length()));
  for (int64_t row = 0; row < lists.length(); ++row) {
    const int32_t size = lists.IsNull(row) ? 0 : lists.value_length(row);
    for (int32_t place = 0; place < size; ++place) {
      elements.rows.push_back(static_cast<int32_t>(row));
      elements.places.push_back(place);
    }
  }
  return elements;
}

std::shared_ptr<arrow::Array> placesColumn(const std::vector<int32_t>& places, arrow::MemoryPool* pool) {
  arrow::Int32Builder builder(pool);
  throwIfFailed(builder.AppendValues(places));
  return valueOrThrow(builder.Finish());
}

GeneratorCall::Kernel explodeKernel(bool isMap, bool withPlaces) {
  return [=](const Arrays& arguments, int64_t, arrow::MemoryPool* pool) {
    Elements elements = elementsOf(arguments[0], pool);
    GeneratedRows result;
    if (withPlaces) result.columns.push_back(placesColumn(elements.places, pool));
    if (isMap) {
      const auto& entries = static_cast<const arrow::StructArray&>(*elements.values);
      result.columns.push_back(entries.field(0));
      result.columns.push_back(entries.field(1));
    } else {
      result.columns.push_back(elements.values);
    }
    result.rows = std::move(elements.rows);
    return result;
  };
}

ExpressionPtr makeGenerator(std::string name, std::vector<StructField> columns,
                            std::vector<ExpressionPtr> arguments, GeneratorCall::Kernel kernel) {
  auto spec = std::make_shared<GeneratorCall::Spec>();
  const bool outer = name.ends_with("_outer");
  spec->name = withoutOuter(std::move(name));
  spec->columns = std::move(columns);
  spec->kernel = std::move(kernel);
  const auto call = std::make_shared<GeneratorCall>(std::move(spec), std::move(arguments));
  return outer ? call->asOuter() : call;
}

ExpressionPtr resolveExplode(const FunctionCall& call, const FunctionContext&) {
  const std::string name = toLowerAscii(call.name);
  const DataType& type = *call.arguments[0]->type();
  if (type.id() != TypeId::Array && type.id() != TypeId::Map) refuseArgument(call, "(\"ARRAY\" or \"MAP\")");
  const bool withPlaces = name.starts_with("pos");
  const bool isMap = type.id() == TypeId::Map;
  std::vector<StructField> columns;
  if (withPlaces) columns.push_back({"pos", intType(), false});
  if (isMap) {
    columns.push_back({"key", type.key(), false});
    columns.push_back({"value", type.value(), type.containsNull()});
  } else {
    columns.push_back({"col", type.element(), type.containsNull()});
  }
  return makeGenerator(name, std::move(columns), call.arguments, explodeKernel(isMap, withPlaces));
}

ExpressionPtr resolveInline(const FunctionCall& call, const FunctionContext&) {
  const DataType& type = *call.arguments[0]->type();
  if (type.id() != TypeId::Array || type.element()->id() != TypeId::Struct)
    refuseArgument(call, "\"ARRAY<STRUCT>\"");
  std::vector<StructField> columns = type.element()->fields();
  for (StructField& column : columns) column.nullable = column.nullable || type.containsNull();
  const auto kernel = [](const Arrays& arguments, int64_t, arrow::MemoryPool* pool) {
    Elements elements = elementsOf(arguments[0], pool);
    return GeneratedRows{
        std::move(elements.rows),
        valueOrThrow(static_cast<const arrow::StructArray&>(*elements.values).Flatten(pool))};
  };
  return makeGenerator(toLowerAscii(call.name), std::move(columns), call.arguments, kernel);
}

// The values of a stack's column, one a row of the stack, in their common type; nulls where the list is too
// short.
std::vector<ExpressionPtr> stackColumn(const FunctionCall& call, size_t column, size_t width, size_t height,
                                       const FunctionContext& context) {
  std::vector<ExpressionPtr> values;
  for (size_t row = 0; row < height; ++row) {
    const size_t at = 1 + row * width + column;
    values.push_back(at < call.arguments.size() ? call.arguments[at] : Literal::null(voidType()));
  }
  DataTypePtr type = voidType();
  for (size_t row = 0; row < height; ++row) {
    const DataTypePtr& one = values[row]->type();
    if (type->id() == TypeId::Void) type = one;
    if (one->id() == TypeId::Void || equals(*one, *type)) continue;
    throw Error("DATATYPE_MISMATCH.STACK_COLUMN_DIFF_TYPES",
                "stack puts values of different types into its column " + std::to_string(column) + ": " +
                    type->sqlString() + " and " + one->sqlString() + ".",
                {{"columnIndex", std::to_string(column)},
                 {"leftParamIndex", "1"},
                 {"leftType", "\"" + type->sqlString() + "\""},
                 {"rightParamIndex", std::to_string(1 + row * width + column)},
                 {"rightType", "\"" + one->sqlString() + "\""},
                 {"sqlExpr", "\"stack\""}});
  }
  for (ExpressionPtr& value : values) value = castTo(value, type, context.castMode());
  return values;
}

// stack(n, v1, v2, …): the values in n rows.
ExpressionPtr resolveStack(const FunctionCall& call, const FunctionContext& context) {
  const auto count =
      constantArgument(implicitCast(call.arguments[0], intType(), call.name, 1, context), call.name, "n");
  const int32_t n = count->is_valid ? static_cast<const arrow::Int32Scalar&>(*count).value : 0;
  constexpr int32_t kMostRows = 65536;
  if (n < 1 || n > kMostRows) {
    throw Error("DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE",
                "stack takes a number of rows from 1 to " + std::to_string(kMostRows) + ".",
                {{"sqlExpr", "\"stack\""},
                 {"exprName", "`n`"},
                 {"valueRange", "(0, 2147483647]"},
                 {"currentValue", std::to_string(n)}});
  }
  const auto height = static_cast<size_t>(n);
  const size_t width = (call.arguments.size() - 1 + height - 1) / height;
  std::vector<StructField> columns;
  std::vector<ExpressionPtr> values;  // column by column
  for (size_t column = 0; column < width; ++column) {
    const auto ofColumn = stackColumn(call, column, width, height, context);
    columns.push_back({"col" + std::to_string(column), ofColumn[0]->type(), true});
    values.insert(values.end(), ofColumn.begin(), ofColumn.end());
  }
  std::vector<DataTypePtr> types;
  for (const StructField& column : columns) types.push_back(column.type);
  const auto kernel = [=](const Arrays& arguments, int64_t numRows, arrow::MemoryPool* pool) {
    GeneratedRows result;
    for (int64_t row = 0; row < numRows; ++row)
      result.rows.insert(result.rows.end(), height, static_cast<int32_t>(row));
    for (size_t column = 0; column < width; ++column) {
      std::unique_ptr<arrow::ArrayBuilder> builder;
      throwIfFailed(arrow::MakeBuilder(pool, toArrowType(*types[column]), &builder));
      std::vector<arrow::ArraySpan> spans;
      for (size_t i = 0; i < height; ++i) spans.emplace_back(*arguments[column * height + i]->data());
      for (int64_t row = 0; row < numRows; ++row) {
        for (const auto& span : spans) throwIfFailed(builder->AppendArraySlice(span, row, 1));
      }
      result.columns.push_back(valueOrThrow(builder->Finish()));
    }
    return result;
  };
  return makeGenerator("stack", std::move(columns), std::move(values), kernel);
}

}  // namespace

std::span<const FunctionRow> generatorFunctions() {
  static const FunctionRow rows[] = {
      {"explode", 1, 1, resolveExplode},    {"explode_outer", 1, 1, resolveExplode},
      {"posexplode", 1, 1, resolveExplode}, {"posexplode_outer", 1, 1, resolveExplode},
      {"inline", 1, 1, resolveInline},      {"inline_outer", 1, 1, resolveInline},
      {"stack", 2, -1, resolveStack},
  };
  return rows;
}

}  // namespace thalweg
