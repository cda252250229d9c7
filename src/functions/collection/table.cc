// Arrays, maps and structs: made of values, and taken apart.
#include <unordered_set>

#include <arrow/api.h>

#include "columnar/key_encoder.h"
#include "common/error.h"
#include "functions/coercion.h"
#include "functions/row_kernels.h"
#include "functions/signature.h"

namespace thalweg {
namespace {

std::vector<ExpressionPtr> inCommonType(std::string_view function, std::vector<ExpressionPtr> values, const FunctionContext& context) {
  const DataTypePtr type = commonType(values, context);
  if (!type) {
    std::string types;
    for (const ExpressionPtr& value : values) types += (types.empty() ? "\"" : ", \"") + value->type()->sqlString() + "\"";
    throw Error("DATATYPE_MISMATCH.DATA_DIFF_TYPES", std::string(function) + " takes values of types that go together, not " + types + ".",
                {{"sqlExpr", "\"" + std::string(function) + "\""}, {"functionName", "`" + std::string(function) + "`"}, {"dataType", "[" + types + "]"}});
  }
  for (ExpressionPtr& value : values) value = castTo(value, type, context.castMode());
  return values;
}

bool anyNullable(const std::vector<ExpressionPtr>& values) {
  return std::any_of(values.begin(), values.end(), [](const ExpressionPtr& value) { return value->nullable(); });
}

// A call that is never null itself.
ExpressionPtr constructor(std::string name, std::vector<ExpressionPtr> arguments, DataTypePtr type, Kernel kernel) {
  auto traits = std::make_shared<FunctionTraits>();
  traits->name = std::move(name);
  return std::make_shared<Call>(std::move(traits), std::move(arguments), std::move(type), false, std::move(kernel));
}

// Values of several arrays in the order row by row: row 0 of each, row 1 of each, …
std::shared_ptr<arrow::Array> transposed(const KernelContext& context, const std::vector<std::shared_ptr<arrow::Array>>& arrays,
                                         const DataType& type) {
  std::unique_ptr<arrow::ArrayBuilder> builder;
  throwIfFailed(arrow::MakeBuilder(context.evaluation.memoryPool(), toArrowType(type), &builder));
  std::vector<arrow::ArraySpan> spans;
  for (const auto& array : arrays) spans.emplace_back(*array->data());
  for (int64_t row = 0; row < context.numRows; ++row) {
    for (const auto& span : spans) throwIfFailed(builder->AppendArraySlice(span, row, 1));
  }
  return valueOrThrow(builder->Finish());
}

std::shared_ptr<arrow::Buffer> evenOffsets(const KernelContext& context, int32_t each) {
  arrow::TypedBufferBuilder<int32_t> offsets(context.evaluation.memoryPool());
  throwIfFailed(offsets.Reserve(context.numRows + 1));
  for (int64_t row = 0; row <= context.numRows; ++row) offsets.UnsafeAppend(static_cast<int32_t>(row * each));
  return valueOrThrow(offsets.Finish());
}

ExpressionPtr resolveArray(const FunctionCall& call, const FunctionContext& context) {
  const auto values = inCommonType("array", call.arguments, context);
  const DataTypePtr element = values.empty() ? voidType() : values[0]->type();
  const DataTypePtr type = DataType::array(element, anyNullable(values));
  auto kernel = [element](const KernelContext& c, const std::vector<arrow::Datum>& a) -> arrow::Datum {
    std::vector<std::shared_ptr<arrow::Array>> arrays;
    for (const arrow::Datum& argument : a) arrays.push_back(argumentArray(c, argument));
    const auto items = transposed(c, arrays, *element);
    return arrow::MakeArray(arrow::ArrayData::Make(toArrowType(c.resultType), c.numRows, {nullptr, evenOffsets(c, static_cast<int32_t>(a.size()))},
                                                   {items->data()}, 0));
  };
  return constructor("array", values, type, kernel);
}

ExpressionPtr structOf(const std::string& name, std::vector<std::string> fieldNames, std::vector<ExpressionPtr> values,
                       std::vector<ExpressionPtr> printed) {
  std::vector<StructField> fields;
  for (size_t i = 0; i < values.size(); ++i) fields.push_back({fieldNames[i], values[i]->type(), values[i]->nullable()});
  const DataTypePtr type = DataType::structOf(std::move(fields));
  auto kernel = [](const KernelContext& c, const std::vector<arrow::Datum>& a) -> arrow::Datum {
    std::vector<std::shared_ptr<arrow::ArrayData>> children;
    for (const arrow::Datum& argument : a) children.push_back(argumentArray(c, argument)->data());
    return arrow::MakeArray(arrow::ArrayData::Make(toArrowType(c.resultType), c.numRows, {nullptr}, std::move(children), 0));
  };
  auto traits = std::make_shared<FunctionTraits>();
  traits->name = name;
  std::string text = name + "(";
  for (size_t i = 0; i < printed.size(); ++i) text += (i ? ", " : "") + printed[i]->toString();
  traits->format = [text](const std::vector<std::string>&) { return text + ")"; };
  return std::make_shared<Call>(std::move(traits), std::move(values), type, false, kernel);
}

// Fields are named after columns and aliases, else col1, col2, … by position.
ExpressionPtr resolveStruct(const FunctionCall& call, const FunctionContext&) {
  std::vector<std::string> names;
  std::vector<ExpressionPtr> values;
  for (const ExpressionPtr& argument : call.arguments) {
    const bool alias = argument->kind() == ExpressionKind::Alias;
    if (alias) names.push_back(static_cast<const Alias&>(*argument).name());
    else if (argument->kind() == ExpressionKind::Attribute) names.push_back(static_cast<const Attribute&>(*argument).name());
    else if (argument->kind() == ExpressionKind::Field) names.push_back(static_cast<const FieldAccess&>(*argument).fieldName());
    else names.push_back("col" + std::to_string(names.size() + 1));
    values.push_back(alias ? argument->children()[0] : argument);
  }
  return structOf("struct", std::move(names), values, call.arguments);
}

ExpressionPtr resolveNamedStruct(const FunctionCall& call, const FunctionContext&) {
  if (call.arguments.size() % 2) {
    throw Error("WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "named_struct takes names and values in pairs.",
                {{"functionName", "`named_struct`"}, {"expectedNum", "2n (n > 0)"}, {"actualNum", std::to_string(call.arguments.size())}, {"docroot", ""}});
  }
  std::vector<std::string> names;
  std::vector<ExpressionPtr> values;
  for (size_t i = 0; i < call.arguments.size(); i += 2) {
    if (call.arguments[i]->type()->id() != TypeId::String || call.arguments[i]->foldability() != Foldability::Always) {
      throw Error("DATATYPE_MISMATCH.CREATE_NAMED_STRUCT_WITHOUT_FOLDABLE_STRING", "named_struct takes its names as constant texts.",
                  {{"inputExprs", "[\"" + call.arguments[i]->toString() + "\"]"}, {"sqlExpr", "\"named_struct\""}});
    }
    const auto name = constantArgument(call.arguments[i], "named_struct", "name");
    if (!name->is_valid) throw Error("DATATYPE_MISMATCH.UNEXPECTED_NULL", "A field's name cannot be NULL.", {{"exprName", "[\"NULL\"]"}, {"sqlExpr", "\"named_struct\""}});
    names.push_back(static_cast<const arrow::StringScalar&>(*name).value->ToString());
    const ExpressionPtr& value = call.arguments[i + 1];
    values.push_back(value->kind() == ExpressionKind::Alias ? value->children()[0] : value);
  }
  return structOf("named_struct", std::move(names), values, call.arguments);
}

[[noreturn]] void throwNullKey() { throw Error("NULL_MAP_KEY", "A map's key cannot be NULL.", {}); }
[[noreturn]] void throwDuplicateKey() {
  throw Error("DUPLICATED_MAP_KEY", "A map's keys must differ; set spark.sql.mapKeyDedupPolicy to LAST_WIN to keep the last of equal ones.",
              {{"key", ""}, {"mapKeyDedupPolicy", "\"spark.sql.mapKeyDedupPolicy\""}});
}

// Refuses null keys and keys that come twice, in selected rows.
void checkKeys(const KernelContext& context, const DataTypePtr& keyType, const std::shared_ptr<arrow::Array>& keys, const int32_t* offsets) {
  const KeyEncoder encoder({{keyType}});
  std::unordered_set<std::string> seen;
  std::string key;
  context.selection.forEach([&](int64_t row) {
    seen.clear();
    for (int64_t i = offsets[row]; i < offsets[row + 1]; ++i) {
      if (keys->IsNull(i)) throwNullKey();
      if (offsets[row + 1] - offsets[row] < 2) continue;
      key.clear();
      encoder.append({keys}, i, &key);
      if (!seen.insert(key).second) throwDuplicateKey();
    }
  });
}

std::shared_ptr<arrow::Array> mapArray(const DataType& type, int64_t numRows, std::shared_ptr<arrow::Buffer> valid, int64_t numNulls,
                                       std::shared_ptr<arrow::Buffer> offsets, const std::shared_ptr<arrow::Array>& keys,
                                       const std::shared_ptr<arrow::Array>& values) {
  const auto arrowType = toArrowType(type);
  const auto entries = arrow::ArrayData::Make(static_cast<const arrow::MapType&>(*arrowType).value_type(), keys->length(), {nullptr},
                                              {keys->data(), values->data()}, 0);
  return arrow::MakeArray(arrow::ArrayData::Make(arrowType, numRows, {std::move(valid), std::move(offsets)}, {entries}, numNulls));
}

ExpressionPtr resolveMap(const FunctionCall& call, const FunctionContext& context) {
  if (call.arguments.size() % 2) {
    throw Error("WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "map takes keys and values in pairs.",
                {{"functionName", "`map`"}, {"expectedNum", "2n (n > 0)"}, {"actualNum", std::to_string(call.arguments.size())}, {"docroot", ""}});
  }
  std::vector<ExpressionPtr> keys, values;
  for (size_t i = 0; i < call.arguments.size(); ++i) (i % 2 ? values : keys).push_back(call.arguments[i]);
  keys = inCommonType("map", keys, context);
  values = inCommonType("map", values, context);
  const DataTypePtr key = keys.empty() ? voidType() : keys[0]->type(), value = values.empty() ? voidType() : values[0]->type();
  if (key->id() == TypeId::Map) {
    throw Error("DATATYPE_MISMATCH.INVALID_MAP_KEY_TYPE", "A map cannot be the key of a map.",
                {{"keyType", "\"" + key->sqlString() + "\""}, {"sqlExpr", "\"map\""}});
  }
  std::vector<ExpressionPtr> arguments;
  for (size_t i = 0; i < keys.size(); ++i) {
    arguments.push_back(keys[i]);
    arguments.push_back(values[i]);
  }
  auto kernel = [key, value](const KernelContext& c, const std::vector<arrow::Datum>& a) -> arrow::Datum {
    std::vector<std::shared_ptr<arrow::Array>> keyArrays, valueArrays;
    for (size_t i = 0; i < a.size(); ++i) (i % 2 ? valueArrays : keyArrays).push_back(argumentArray(c, a[i]));
    const auto keyItems = transposed(c, keyArrays, *key);
    const auto offsets = evenOffsets(c, static_cast<int32_t>(a.size() / 2));
    checkKeys(c, key, keyItems, reinterpret_cast<const int32_t*>(offsets->data()));
    return mapArray(c.resultType, c.numRows, nullptr, 0, offsets, keyItems, transposed(c, valueArrays, *value));
  };
  return constructor("map", arguments, DataType::map(key, value, anyNullable(values)), kernel);
}

// Both sides of a function of an array and one of its elements.
std::pair<ExpressionPtr, ExpressionPtr> arrayAndElement(const FunctionCall& call, const FunctionContext& context) {
  const DataTypePtr& type = call.arguments[0]->type();
  const DataTypePtr element = type->id() == TypeId::Array ? commonType(type->element(), call.arguments[1]->type(), context) : nullptr;
  if (!element || call.arguments[1]->type()->id() == TypeId::Void) {
    const std::string name = toLowerAscii(call.name);
    if (call.arguments[1]->type()->id() == TypeId::Void) {
      throw Error("DATATYPE_MISMATCH.NULL_TYPE", name + " cannot look for a NULL without a type.", {{"functionName", "`" + name + "`"}, {"sqlExpr", "\"" + name + "\""}});
    }
    throw Error("DATATYPE_MISMATCH.ARRAY_FUNCTION_DIFF_TYPES", name + " takes an array and a value of its elements' type.",
                {{"functionName", "`" + name + "`"}, {"dataType", "\"ARRAY\""}, {"leftType", "\"" + type->sqlString() + "\""},
                 {"rightType", "\"" + call.arguments[1]->type()->sqlString() + "\""}, {"sqlExpr", "\"" + name + "\""}});
  }
  return {castTo(call.arguments[0], DataType::array(element, type->containsNull()), context.castMode()),
          castTo(call.arguments[1], element, context.castMode())};
}

// array_contains and array_position: where the element is found, by encoded values.
ExpressionPtr resolveFindElement(const FunctionCall& call, const FunctionContext& context) {
  const bool contains = equalsIgnoreCase(call.name, "array_contains");
  const auto [list, element] = arrayAndElement(call, context);
  const DataTypePtr type = element->type();
  auto kernel = [type, contains](const KernelContext& c, const std::vector<arrow::Datum>& a) -> arrow::Datum {
    const auto lists = argumentAs<arrow::ListArray>(c, a[0]);
    const std::vector<std::shared_ptr<arrow::Array>> values = {lists->values()}, wanted = {argumentArray(c, a[1])};
    const KeyEncoder encoder({{type}});
    std::string key, other;
    std::vector<std::optional<int64_t>> found(static_cast<size_t>(c.numRows));
    c.selection.forEach([&](int64_t row) {
      if (lists->IsNull(row) || wanted[0]->IsNull(row)) return;
      key.clear();
      encoder.append(wanted, row, &key);
      bool sawNull = false;
      for (int64_t i = lists->value_offset(row); i < lists->value_offset(row + 1); ++i) {
        if (values[0]->IsNull(i)) {
          sawNull = true;
          continue;
        }
        other.clear();
        encoder.append(values, i, &other);
        if (other != key) continue;
        found[static_cast<size_t>(row)] = i - lists->value_offset(row) + 1;
        return;
      }
      if (!contains || !sawNull) found[static_cast<size_t>(row)] = 0;
    });
    if (contains) {
      ResultWriter<bool> result(c.resultType, c.numRows, c.evaluation.memoryPool());
      for (const auto& at : found) result.append(at ? std::optional(*at > 0) : std::nullopt);
      return result.finish();
    }
    ResultWriter<int64_t> result(c.resultType, c.numRows, c.evaluation.memoryPool());
    for (const auto& at : found) result.append(at);
    return result.finish();
  };
  return makeCall(toLowerAscii(call.name), {list, element}, contains ? booleanType() : longType(), kernel, true);
}

[[noreturn]] void throwBadIndex(int64_t index, int64_t size, bool elementAt) {
  throw Error(elementAt ? "INVALID_ARRAY_INDEX_IN_ELEMENT_AT" : "INVALID_ARRAY_INDEX",
              "The array has " + std::to_string(size) + " elements, none at index " + std::to_string(index) + "; use " +
                  (elementAt ? "try_element_at" : "get") + "() to get NULL instead.",
              {{"indexValue", std::to_string(index)}, {"arraySize", std::to_string(size)}, {"ansiConfig", "\"spark.sql.ansi.enabled\""}});
}

enum class Indexing { FromZero, FromOne };

// array[index]. `raise`: an index outside is an error.
ExpressionPtr elementOfArray(const std::string& name, const ExpressionPtr& list, const ExpressionPtr& index, Indexing indexing, bool raise) {
  auto kernel = [indexing, raise](const KernelContext& c, const std::vector<arrow::Datum>& a) -> arrow::Datum {
    const auto lists = argumentAs<arrow::ListArray>(c, a[0]);
    const ValueReader<int32_t> indexes(a[1]);
    std::unique_ptr<arrow::ArrayBuilder> builder;
    throwIfFailed(arrow::MakeBuilder(c.evaluation.memoryPool(), toArrowType(c.resultType), &builder));
    throwIfFailed(builder->Reserve(c.numRows));
    const arrow::ArraySpan values(*lists->values()->data());
    forEachRow(
        c,
        [&](int64_t row) {
          if (lists->IsNull(row) || indexes.isNull(row)) return throwIfFailed(builder->AppendNull());
          const int64_t size = lists->value_length(row), index = indexes.value(row);
          if (indexing == Indexing::FromOne && index == 0) {
            throw Error("INVALID_INDEX_OF_ZERO", "element_at counts from 1, or from −1 at the end; 0 names no element.", {});
          }
          const int64_t at = indexing == Indexing::FromZero ? index : index > 0 ? index - 1 : size + index;
          if (at >= 0 && at < size) return throwIfFailed(builder->AppendArraySlice(values, lists->value_offset(row) + at, 1));
          if (raise) throwBadIndex(index, size, indexing == Indexing::FromOne);
          throwIfFailed(builder->AppendNull());
        },
        [&] { throwIfFailed(builder->AppendNull()); });
    return valueOrThrow(builder->Finish());
  };
  std::function<std::string(const std::vector<std::string>&)> format;
  if (name == "getItem") format = [](const std::vector<std::string>& a) { return a[0] + "[" + a[1] + "]"; };
  return makeCall(name, {list, index}, list->type()->element(), kernel, !raise || list->type()->containsNull(), format);
}

// map[key]: null where the map has no such key.
ExpressionPtr valueOfMap(const std::string& name, const ExpressionPtr& map, const ExpressionPtr& key) {
  const DataTypePtr keyType = map->type()->key();
  auto kernel = [keyType](const KernelContext& c, const std::vector<arrow::Datum>& a) -> arrow::Datum {
    const auto maps = argumentAs<arrow::MapArray>(c, a[0]);
    const std::vector<std::shared_ptr<arrow::Array>> keys = {maps->keys()}, wanted = {argumentArray(c, a[1])};
    const arrow::ArraySpan items(*maps->items()->data());
    std::unique_ptr<arrow::ArrayBuilder> builder;
    throwIfFailed(arrow::MakeBuilder(c.evaluation.memoryPool(), toArrowType(c.resultType), &builder));
    const KeyEncoder encoder({{keyType}});
    std::string key, other;
    forEachRow(
        c,
        [&](int64_t row) {
          if (maps->IsNull(row) || wanted[0]->IsNull(row)) return throwIfFailed(builder->AppendNull());
          key.clear();
          encoder.append(wanted, row, &key);
          for (int64_t i = maps->value_offset(row); i < maps->value_offset(row + 1); ++i) {
            other.clear();
            encoder.append(keys, i, &other);
            if (other == key) return throwIfFailed(builder->AppendArraySlice(items, i, 1));
          }
          throwIfFailed(builder->AppendNull());
        },
        [&] { throwIfFailed(builder->AppendNull()); });
    return valueOrThrow(builder->Finish());
  };
  std::function<std::string(const std::vector<std::string>&)> format;
  if (name == "getItem") format = [](const std::vector<std::string>& a) { return a[0] + "[" + a[1] + "]"; };
  return makeCall(name, {map, key}, map->type()->value(), kernel, true, format);
}

// a[i], m[k], s['field'], and a field of each struct of an array.
ExpressionPtr resolveGetItem(const FunctionCall& call, const FunctionContext& context) {
  const ExpressionPtr& base = call.arguments[0];
  const ExpressionPtr& index = call.arguments[1];
  const std::string name(call.name);
  const bool elementAt = !equalsIgnoreCase(name, "getItem") && !equalsIgnoreCase(name, "get");
  switch (base->type()->id()) {
    case TypeId::Array: {
      const bool raise = context.ansi && !toLowerAscii(name).starts_with("try_") && !equalsIgnoreCase(name, "get");
      if (!index->type()->isIntegral() && index->type()->id() != TypeId::Void) {
        throw Error("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "An array's index is a whole number, not '" + index->toString() + "'.",
                    {{"sqlExpr", "\"" + name + "\""}, {"paramIndex", "second"}, {"inputSql", "\"" + index->toString() + "\""},
                     {"inputType", "\"" + index->type()->sqlString() + "\""}, {"requiredType", "\"INTEGRAL\""}});
      }
      return elementOfArray(elementAt ? toLowerAscii(name) : name, base, castTo(index, intType(), context.castMode()),
                            elementAt ? Indexing::FromOne : Indexing::FromZero, raise);
    }
    case TypeId::Map:
      return valueOfMap(elementAt ? toLowerAscii(name) : name, base, implicitCast(index, base->type()->key(), name, 2, context));
    case TypeId::Struct:
      if (index->type()->isIntegral() && index->foldability() == Foldability::Always) break;
      break;
    default: break;
  }
  throw Error("INVALID_EXTRACT_BASE_FIELD_TYPE",
              "'" + base->toString() + "' is " + base->type()->sqlString() + ": nothing can be taken out of it by '" + index->toString() + "'.",
              {{"base", "\"" + base->toString() + "\""}, {"other", "\"" + base->type()->sqlString() + "\""}});
}

ExpressionPtr resolveSize(const FunctionCall& call, const FunctionContext&) {
  const ExpressionPtr& value = call.arguments[0];
  const TypeId id = value->type()->id();
  if (id == TypeId::Void) return Literal::null(intType());
  if (id != TypeId::Array && id != TypeId::Map) {
    throw Error("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", std::string(call.name) + " takes an array or a map.",
                {{"sqlExpr", "\"size\""}, {"paramIndex", "first"}, {"inputSql", "\"" + value->toString() + "\""},
                 {"inputType", "\"" + value->type()->sqlString() + "\""}, {"requiredType", "(\"ARRAY\" or \"MAP\")"}});
  }
  auto kernel = [](const KernelContext& c, const std::vector<arrow::Datum>& a) -> arrow::Datum {
    const auto lists = argumentArray(c, a[0]);
    ResultWriter<int32_t> result(c.resultType, c.numRows, c.evaluation.memoryPool());
    for (int64_t row = 0; row < c.numRows; ++row) {
      if (lists->IsNull(row)) result.appendNull();
      else result.append(static_cast<int32_t>(static_cast<const arrow::ListArray&>(*lists).value_length(row)));
    }
    return result.finish();
  };
  return makeCall(toLowerAscii(call.name), {value}, intType(), kernel);
}

ExpressionPtr mapArgument(const FunctionCall& call) {
  if (call.arguments[0]->type()->id() == TypeId::Map) return call.arguments[0];
  throw Error("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", std::string(call.name) + " takes a map.",
              {{"sqlExpr", "\"" + std::string(call.name) + "\""}, {"paramIndex", "first"}, {"inputSql", "\"" + call.arguments[0]->toString() + "\""},
               {"inputType", "\"" + call.arguments[0]->type()->sqlString() + "\""}, {"requiredType", "\"MAP\""}});
}

ExpressionPtr resolveMapPart(const FunctionCall& call, const FunctionContext&) {
  const ExpressionPtr map = mapArgument(call);
  const bool keys = equalsIgnoreCase(call.name, "map_keys");
  const DataTypePtr type = keys ? DataType::array(map->type()->key(), false) : DataType::array(map->type()->value(), map->type()->containsNull());
  auto kernel = [keys](const KernelContext& c, const std::vector<arrow::Datum>& a) -> arrow::Datum {
    const auto maps = argumentAs<arrow::MapArray>(c, a[0]);
    const auto data = maps->data()->Copy();
    data->type = toArrowType(c.resultType);
    data->child_data = {(keys ? maps->keys() : maps->items())->data()};
    return arrow::MakeArray(data);
  };
  return makeCall(toLowerAscii(call.name), {map}, type, kernel);
}

const DataTypePtr& arrayArgument(const FunctionCall& call) {
  if (call.arguments[0]->type()->id() == TypeId::Array) return call.arguments[0]->type();
  throw Error("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", std::string(call.name) + " takes an array.",
              {{"sqlExpr", "\"" + std::string(call.name) + "\""}, {"paramIndex", "first"}, {"inputSql", "\"" + call.arguments[0]->toString() + "\""},
               {"inputType", "\"" + call.arguments[0]->type()->sqlString() + "\""}, {"requiredType", "\"ARRAY\""}});
}

// The elements of each row in another order, or some of them: choose(encoded elements' keys) gives their positions; a key is
// empty for a null.
template <typename Choose>
Kernel rearranged(const DataTypePtr& element, Choose choose) {
  return [element, choose](const KernelContext& c, const std::vector<arrow::Datum>& a) -> arrow::Datum {
    const auto lists = argumentAs<arrow::ListArray>(c, a[0]);
    const std::vector<std::shared_ptr<arrow::Array>> values = {lists->values()};
    const arrow::ArraySpan items(*lists->values()->data());
    const KeyEncoder encoder({{element}});
    std::unique_ptr<arrow::ArrayBuilder> made;
    throwIfFailed(arrow::MakeBuilder(c.evaluation.memoryPool(), toArrowType(c.resultType), &made));
    auto& builder = static_cast<arrow::ListBuilder&>(*made);
    std::vector<std::optional<std::string>> keys;
    std::vector<int32_t> order;
    forEachRow(
        c,
        [&](int64_t row) {
          if (lists->IsNull(row)) return throwIfFailed(builder.AppendNull());
          keys.assign(static_cast<size_t>(lists->value_length(row)), std::nullopt);
          for (size_t i = 0; i < keys.size(); ++i) {
            const int64_t at = lists->value_offset(row) + static_cast<int64_t>(i);
            if (values[0]->IsNull(at)) continue;
            keys[i].emplace();
            encoder.append(values, at, &*keys[i]);
          }
          order.clear();
          choose(keys, &order, a, row);
          throwIfFailed(builder.Append());
          for (const int32_t i : order) throwIfFailed(builder.value_builder()->AppendArraySlice(items, lists->value_offset(row) + i, 1));
        },
        [&] { throwIfFailed(builder.AppendNull()); });
    return valueOrThrow(builder.Finish());
  };
}

using Keys = std::vector<std::optional<std::string>>;

ExpressionPtr resolveSortArray(const FunctionCall& call, const FunctionContext& context) {
  const DataTypePtr& type = arrayArgument(call);
  const bool nullsLast = equalsIgnoreCase(call.name, "array_sort");
  bool ascending = true;
  if (call.arguments.size() == 2) {
    const auto flag = constantArgument(implicitCast(call.arguments[1], booleanType(), call.name, 2, context), call.name, "ascendingOrder");
    ascending = !flag->is_valid || static_cast<const arrow::BooleanScalar&>(*flag).value;
  }
  auto choose = [ascending, nullsLast](const Keys& keys, std::vector<int32_t>* order, const std::vector<arrow::Datum>&, int64_t) {
    for (size_t i = 0; i < keys.size(); ++i) order->push_back(static_cast<int32_t>(i));
    // Nulls are the least: first of an ascending order, last of a descending one; array_sort has them last.
    std::stable_sort(order->begin(), order->end(), [&](int32_t left, int32_t right) {
      const auto& a = keys[static_cast<size_t>(ascending ? left : right)];
      const auto& b = keys[static_cast<size_t>(ascending ? right : left)];
      if (nullsLast && (!a || !b)) return a.has_value() && !b.has_value();
      return a < b;
    });
  };
  return makeCall(toLowerAscii(call.name), call.arguments, type, rearranged(type->element(), choose));
}

ExpressionPtr resolveDistinct(const FunctionCall& call, const FunctionContext&) {
  const DataTypePtr& type = arrayArgument(call);
  auto choose = [](const Keys& keys, std::vector<int32_t>* order, const std::vector<arrow::Datum>&, int64_t) {
    std::unordered_set<std::string> seen;
    bool sawNull = false;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] ? seen.insert(*keys[i]).second : !std::exchange(sawNull, true)) order->push_back(static_cast<int32_t>(i));
    }
  };
  return makeCall("array_distinct", call.arguments, type, rearranged(type->element(), choose));
}

ExpressionPtr resolveReverse(const FunctionCall& call, const FunctionContext& context) {
  if (call.arguments[0]->type()->id() != TypeId::Array) {
    const ExpressionPtr text = resolveFunction({"__reverse_text", call.arguments}, context);
    return makeCall("reverse", {text}, stringType(), [](const KernelContext&, const std::vector<arrow::Datum>& a) { return a[0]; }, false,
                    [inner = call.arguments[0]->toString()](const std::vector<std::string>&) { return "reverse(" + inner + ")"; });
  }
  auto choose = [](const Keys& keys, std::vector<int32_t>* order, const std::vector<arrow::Datum>&, int64_t) {
    for (size_t i = keys.size(); i-- > 0;) order->push_back(static_cast<int32_t>(i));
  };
  return makeCall("reverse", call.arguments, arrayArgument(call), rearranged(arrayArgument(call)->element(), choose));
}

ExpressionPtr resolveSlice(const FunctionCall& call, const FunctionContext& context) {
  const DataTypePtr& type = arrayArgument(call);
  auto choose = [](const Keys& keys, std::vector<int32_t>* order, const std::vector<arrow::Datum>& a, int64_t row) {
    const int32_t start = ValueReader<int32_t>(a[1]).value(row), length = ValueReader<int32_t>(a[2]).value(row);
    const auto size = static_cast<int64_t>(keys.size());
    if (start == 0) throw Error("INVALID_PARAMETER_VALUE.START", "slice counts from 1, or from −1 at the end, not from 0.", {{"parameter", "`start`"}, {"functionName", "`slice`"}});
    if (length < 0) throw Error("INVALID_PARAMETER_VALUE.LENGTH", "slice takes a length of 0 or more, not " + std::to_string(length) + ".", {{"parameter", "`length`"}, {"length", std::to_string(length)}, {"functionName", "`slice`"}});
    const int64_t first = start > 0 ? start - 1 : size + start;
    for (int64_t i = first; first >= 0 && i < std::min(size, first + length); ++i) order->push_back(static_cast<int32_t>(i));
  };
  const std::vector<ExpressionPtr> arguments = coercedArguments(call, {type, intType(), intType()}, context);
  // A null bound makes the row null before the kernel sees it.
  const ExpressionPtr sliced = makeCall("slice", arguments, type, rearranged(type->element(), choose));
  if (!arguments[1]->nullable() && !arguments[2]->nullable()) return sliced;
  const ExpressionPtr known = std::make_shared<Conjunction>(ExpressionKind::And, resolveFunction({"isnotnull", {arguments[1]}}, context),
                                                            resolveFunction({"isnotnull", {arguments[2]}}, context));
  return std::make_shared<CaseWhen>(std::vector<ExpressionPtr>{known, sliced});
}

ExpressionPtr resolveArrayJoin(const FunctionCall& call, const FunctionContext& context) {
  const std::vector<ExpressionPtr> arguments = coercedArguments(call, {DataType::array(stringType()), stringType(), stringType()}, context);
  auto kernel = [](const KernelContext& c, const std::vector<arrow::Datum>& a) -> arrow::Datum {
    const auto lists = argumentAs<arrow::ListArray>(c, a[0]);
    const auto& values = static_cast<const arrow::BinaryArray&>(*lists->values());
    const ValueReader<std::string_view> separators(a[1]);
    std::optional<ValueReader<std::string_view>> replacements;
    if (a.size() > 2) replacements.emplace(a[2]);
    ResultWriter<TextResult> result(c.resultType, c.numRows, c.evaluation.memoryPool());
    std::string text;
    forEachRow(
        c,
        [&](int64_t row) {
          if (lists->IsNull(row) || separators.isNull(row) || (replacements && replacements->isNull(row))) return result.appendNull();
          text.clear();
          bool first = true;
          for (int64_t i = lists->value_offset(row); i < lists->value_offset(row + 1); ++i) {
            if (values.IsNull(i) && !replacements) continue;
            if (!first) text += separators.value(row);
            first = false;
            text += values.IsNull(i) ? replacements->value(row) : values.GetView(i);
          }
          result.append(text);
        },
        [&] { result.appendNull(); });
    return result.finish();
  };
  return makeCall("array_join", arguments, stringType(), kernel);
}

ExpressionPtr resolveMapFromArrays(const FunctionCall& call, const FunctionContext&) {
  const DataTypePtr &keys = arrayArgument(call), &values = call.arguments[1]->type();
  if (values->id() != TypeId::Array) throwDifferentTypes("map_from_arrays", *call.arguments[0], *call.arguments[1]);
  const DataTypePtr keyType = keys->element();
  auto kernel = [keyType](const KernelContext& c, const std::vector<arrow::Datum>& a) -> arrow::Datum {
    const auto keyLists = argumentAs<arrow::ListArray>(c, a[0]), valueLists = argumentAs<arrow::ListArray>(c, a[1]);
    std::unique_ptr<arrow::ArrayBuilder> made;
    throwIfFailed(arrow::MakeBuilder(c.evaluation.memoryPool(), toArrowType(c.resultType), &made));
    auto& builder = static_cast<arrow::MapBuilder&>(*made);
    const arrow::ArraySpan keyItems(*keyLists->values()->data()), valueItems(*valueLists->values()->data());
    checkKeys(c, keyType, keyLists->values(), keyLists->raw_value_offsets());
    forEachRow(
        c,
        [&](int64_t row) {
          if (keyLists->IsNull(row) || valueLists->IsNull(row)) return throwIfFailed(builder.AppendNull());
          if (keyLists->value_length(row) != valueLists->value_length(row)) {
            throw Error("UNEQUAL_LENGTHS_OF_MAP_ARRAYS", "map_from_arrays takes as many keys as values.", {});
          }
          throwIfFailed(builder.Append());
          throwIfFailed(builder.key_builder()->AppendArraySlice(keyItems, keyLists->value_offset(row), keyLists->value_length(row)));
          throwIfFailed(builder.item_builder()->AppendArraySlice(valueItems, valueLists->value_offset(row), valueLists->value_length(row)));
        },
        [&] { throwIfFailed(builder.AppendNull()); });
    return valueOrThrow(builder.Finish());
  };
  return makeCall("map_from_arrays", call.arguments, DataType::map(keyType, values->element(), values->containsNull()), kernel);
}

}  // namespace

std::span<const FunctionRow> collectionFunctions() {
  static const FunctionRow rows[] = {
      {"array", 0, -1, resolveArray},
      {"map", 0, -1, resolveMap},
      {"struct", 0, -1, resolveStruct},
      {"named_struct", 2, -1, resolveNamedStruct},
      {"map_from_arrays", 2, 2, resolveMapFromArrays},
      {"getItem", 2, 2, resolveGetItem},
      {"get", 2, 2, resolveGetItem},
      {"element_at", 2, 2, resolveGetItem},
      {"try_element_at", 2, 2, resolveGetItem},
      {"size", 1, 1, resolveSize},
      {"cardinality", 1, 1, resolveSize},
      {"array_size", 1, 1, resolveSize},
      {"array_contains", 2, 2, resolveFindElement},
      {"array_position", 2, 2, resolveFindElement},
      {"map_keys", 1, 1, resolveMapPart},
      {"map_values", 1, 1, resolveMapPart},
      {"sort_array", 1, 2, resolveSortArray},
      {"array_sort", 1, 1, resolveSortArray},
      {"array_distinct", 1, 1, resolveDistinct},
      {"reverse", 1, 1, resolveReverse},
      {"slice", 3, 3, resolveSlice},
      {"array_join", 2, 3, resolveArrayJoin},
  };
  return rows;
}

}  // namespace thalweg
