// Functions that collect values: lists, sets, joined strings.
#include <arrow/scalar.h>

#include "columnar/key_encoder.h"
#include "common/error.h"
#include "functions/aggregate/tables.h"
#include "functions/coercion.h"
#include "functions/signature.h"

namespace thalweg {
namespace {

bool hasMap(const DataType& type) {
  if (type.id() == TypeId::Map) return true;
  if (type.id() == TypeId::Array) return hasMap(*type.element());
  for (const StructField& field : type.fields()) {
    if (hasMap(*field.type)) return true;
  }
  return false;
}

// A set has one zero.
ExpressionPtr withoutNegativeZero(const ExpressionPtr& value, const FunctionContext& context) {
  const TypeId id = value->type()->id();
  if (id != TypeId::Float && id != TypeId::Double) return value;
  return resolveFunction({"+", {value, castTo(Literal::of(0.0), value->type(), CastMode::Ansi)}}, context);
}

ExpressionPtr resolveCollect(const FunctionCall& call, const FunctionContext& context) {
  const std::string name = toLowerAscii(call.name);
  const DataTypePtr type = call.arguments[0]->type();
  const bool isSet = name == "collect_set";
  if (isSet && hasMap(*type)) {
    throw Error("DATATYPE_MISMATCH.UNSUPPORTED_INPUT_TYPE", "collect_set cannot compare maps.",
                {{"functionName", "`collect_set`"},
                 {"dataType", "\"MAP\""},
                 {"sqlExpr", "\"" + callText(call) + "\""}});
  }
  const ExpressionPtr argument = isSet ? withoutNegativeZero(call.arguments[0], context) : call.arguments[0];
  const ExpressionPtr made = makeAggregateCall(
      call, isSet ? "collect_set" : "collect_list", {argument}, DataType::array(type, false), false,
      [=] { return makeCollect(type, isSet); }, /*orderMatters=*/!isSet);
  if (name == "array_agg") return printedAs(made, "collect_list(" + callText(call).substr(name.size() + 1));
  return printedAs(made, callText(call));
}

// listagg([DISTINCT] text[, delimiter]) [WITHIN GROUP (ORDER BY value)]
ExpressionPtr resolveJoinedText(const FunctionCall& call, const FunctionContext& context) {
  ExpressionPtr text = call.arguments[0];
  if (text->type()->id() != TypeId::Binary) text = implicitCast(text, stringType(), call.name, 1, context);
  const DataTypePtr type = text->type();
  std::string delimiter;
  if (call.arguments.size() == 2) {
    const auto value = constantArgument(implicitCast(call.arguments[1], type, call.name, 2, context),
                                        call.name, "delimiter");
    if (value->is_valid) delimiter = static_cast<const arrow::BaseBinaryScalar&>(*value).view();
  }
  std::string tail;
  std::vector<ExpressionPtr> arguments = {text};
  AggregateCall::Factory make = [=] { return makeJoinedText(type, delimiter); };
  if (call.withinGroup.size() > 1) throw unsupported("listagg in the order of several values");
  if (!call.withinGroup.empty()) {
    const auto& order = static_cast<const SortOrder&>(*call.withinGroup[0]);
    const ExpressionPtr& by = order.children()[0];
    const TextOrder textOrder{by->type(), order.ascending(), order.nullsFirst()};
    arguments.push_back(by);
    make = [=] { return makeOrderedText(type, delimiter, textOrder); };
    tail = " WITHIN GROUP (ORDER BY " + by->toString() + (order.ascending() ? " ASC" : " DESC") +
           (order.nullsFirst() ? " NULLS FIRST)" : " NULLS LAST)");
  }
  if (call.distinct) {
    std::vector<DataTypePtr> types;
    for (const ExpressionPtr& argument : arguments) types.push_back(argument->type());
    make = [inner = make, types] { return makeDistinct(inner(), types, 1); };
  }
  FunctionCall plain = call;
  plain.distinct = false;
  if (plain.arguments.size() == 1) plain.arguments.push_back(Literal::null(stringType()));
  plain.arguments[0] = text;
  std::string printed = callText(plain);
  if (call.distinct) printed.insert(printed.find('(') + 1, "DISTINCT ");
  return printedAs(makeAggregateCall(plain, toLowerAscii(call.name), std::move(arguments), type, true, make,
                                     /*orderMatters=*/true),
                   std::move(printed), tail);
}

}  // namespace

std::span<const FunctionRow> collectingFunctions() {
  static const FunctionRow rows[] = {
      {"collect_list", 1, 1, resolveCollect},  {"array_agg", 1, 1, resolveCollect},
      {"collect_set", 1, 1, resolveCollect},   {"listagg", 1, 2, resolveJoinedText},
      {"string_agg", 1, 2, resolveJoinedText},
  };
  return rows;
}

}  // namespace thalweg
