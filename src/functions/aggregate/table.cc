// All aggregate functions, and those that give one plain value: counts, sums, extremes, first and last, bits.
#include "functions/aggregate/tables.h"

#include <arrow/scalar.h>

#include "common/error.h"
#include "expr/grouping.h"
#include "functions/coercion.h"

namespace thalweg {

ExpressionPtr makeAggregateCall(const FunctionCall& call, std::string name,
                                std::vector<ExpressionPtr> arguments, DataTypePtr type, bool nullable,
                                AggregateCall::Factory make, bool orderMatters) {
  auto spec = std::make_shared<AggregateCall::Spec>();
  spec->name = std::move(name);
  spec->type = std::move(type);
  spec->nullable = nullable;
  spec->make = std::move(make);
  spec->orderMatters = orderMatters;
  if (call.distinct) {
    spec->distinct = true;
    std::vector<DataTypePtr> types;
    for (const ExpressionPtr& argument : arguments) types.push_back(argument->type());
    spec->make = [inner = spec->make, types] { return makeDistinct(inner(), types, types.size()); };
  }
  return std::make_shared<AggregateCall>(std::move(spec), std::move(arguments));
}

ExpressionPtr printedAs(const ExpressionPtr& aggregate, std::string text, std::string tail) {
  auto spec = std::make_shared<AggregateCall::Spec>(static_cast<const AggregateCall&>(*aggregate).spec());
  spec->text = std::move(text);
  spec->tail = std::move(tail);
  return std::make_shared<AggregateCall>(std::move(spec), aggregate->children());
}

std::string callText(const FunctionCall& call) {
  std::string text = toLowerAscii(call.name) + "(" + (call.distinct ? "DISTINCT " : "");
  for (size_t i = 0; i < call.arguments.size(); ++i) text += (i ? ", " : "") + call.arguments[i]->toString();
  return text + ")";
}

namespace {

ExpressionPtr resolveCount(const FunctionCall& call, const FunctionContext&) {
  return makeAggregateCall(call, "count", call.arguments, longType(), false, [] { return makeCount(); });
}

ExpressionPtr resolveCountIf(const FunctionCall& call, const FunctionContext& context) {
  const ExpressionPtr condition = implicitCast(call.arguments[0], booleanType(), call.name, 1, context);
  return makeAggregateCall(call, "count_if", {condition}, longType(), false, [] { return makeCountIf(); });
}

// The argument as a number of its summing kind.
ExpressionPtr numericArgument(const FunctionCall& call, const FunctionContext& context) {
  ExpressionPtr argument = call.arguments[0];
  if (argument->type()->isIntegral()) return castTo(argument, longType(), CastMode::Ansi);
  if (argument->type()->id() == TypeId::Decimal) return argument;
  return implicitCast(argument, doubleType(), call.name, 1, context);
}

Overflow overflowOf(const std::string& name, const FunctionContext& context) {
  if (name.starts_with("try_")) return Overflow::Null;
  return context.ansi ? Overflow::Error : Overflow::Wrap;
}

ExpressionPtr resolveSum(const FunctionCall& call, const FunctionContext& context) {
  const std::string name = toLowerAscii(call.name);
  const ExpressionPtr argument = numericArgument(call, context);
  DataTypePtr type = argument->type();
  if (type->id() == TypeId::Decimal)
    type = DataType::decimal(std::min(38, type->precision() + 10), type->scale());
  const DataTypePtr input = argument->type();
  const Overflow overflow = overflowOf(name, context);
  return makeAggregateCall(call, name, {argument}, type, true,
                           [=] { return makeSum(input, type, overflow); });
}

ExpressionPtr resolveAverage(const FunctionCall& call, const FunctionContext& context) {
  const std::string name = equalsIgnoreCase(call.name, "try_avg") ? "try_avg" : "avg";
  ExpressionPtr argument = numericArgument(call, context);
  DataTypePtr type = doubleType();
  if (argument->type()->id() == TypeId::Decimal) {
    const DataType& input = *argument->type();
    type = DataType::decimal(std::min(38, input.precision() + 4), std::min(38, input.scale() + 4));
  } else {
    argument = castTo(argument, doubleType(), context.castMode());
  }
  const DataTypePtr input = argument->type();
  const Overflow overflow = overflowOf(name, context);
  return makeAggregateCall(call, name, {argument}, type, true,
                           [=] { return makeAverage(input, type, overflow); });
}

ExpressionPtr resolveExtreme(const FunctionCall& call, const FunctionContext&) {
  const DataTypePtr type = call.arguments[0]->type();
  const bool least = equalsIgnoreCase(call.name, "min");
  makeExtreme(type, least);  // refuses types without an order
  return makeAggregateCall(call, least ? "min" : "max", call.arguments, type, true,
                           [=] { return makeExtreme(type, least); });
}

// False is less than true: every is the least, some the greatest.
ExpressionPtr resolveBooleans(const FunctionCall& call, const FunctionContext& context) {
  const std::string name = toLowerAscii(call.name);
  const bool least = name == "every" || name == "bool_and";
  const ExpressionPtr argument = implicitCast(call.arguments[0], booleanType(), call.name, 1, context);
  return makeAggregateCall(call, name, {argument}, booleanType(), true,
                           [=] { return makeExtreme(booleanType(), least); });
}

ExpressionPtr resolveExtremeBy(const FunctionCall& call, const FunctionContext&) {
  if (call.arguments.size() > 2) throw unsupported("max_by and min_by of several values");
  const DataTypePtr type = call.arguments[0]->type();
  const DataTypePtr ordering = call.arguments[1]->type();
  const bool least = equalsIgnoreCase(call.name, "min_by");
  makeExtreme(ordering, least);  // refuses types without an order
  return makeAggregateCall(
      call, toLowerAscii(call.name), call.arguments, type, true,
      [=] { return makeExtremeBy(type, ordering, least); }, /*orderMatters=*/true);
}

ExpressionPtr resolveFirst(const FunctionCall& call, const FunctionContext& context) {
  bool ignoreNulls = false;
  if (call.arguments.size() == 2) {
    const BatchContext batch;
    const auto flag = evaluateConstant(*implicitCast(call.arguments[1], booleanType(), call.name, 2, context),
                                       EvaluationContext{&batch});
    ignoreNulls = flag->is_valid && static_cast<const arrow::BooleanScalar&>(*flag).value;
  }
  const std::string name = toLowerAscii(call.name);
  const bool last = name.starts_with("last");
  const DataTypePtr type = call.arguments[0]->type();
  return makeAggregateCall(
      call, name, {call.arguments[0]}, type, true, [=] { return makeFirst(type, last, ignoreNulls); },
      /*orderMatters=*/true);
}

ExpressionPtr resolveBits(const FunctionCall& call, const FunctionContext& context) {
  const std::string name = toLowerAscii(call.name);
  const FoldOperation operation = name == "bit_and"  ? FoldOperation::And
                                  : name == "bit_or" ? FoldOperation::Or
                                                     : FoldOperation::Xor;
  ExpressionPtr argument = call.arguments[0];
  if (argument->type()->id() == TypeId::Void) argument = implicitCast(argument, longType(), call.name, 1, context);
  if (!argument->type()->isIntegral()) {
    throw Error("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
                "The function " + name + " takes whole numbers, but '" + argument->toString() + "' is " +
                    argument->type()->sqlString() + ".",
                {{"sqlExpr", "\"" + name + "(" + argument->toString() + ")\""},
                 {"paramIndex", "first"},
                 {"requiredType", "\"INTEGRAL\""},
                 {"inputSql", "\"" + argument->toString() + "\""},
                 {"inputType", "\"" + argument->type()->sqlString() + "\""}});
  }
  const DataTypePtr type = argument->type();
  return makeAggregateCall(call, name, {argument}, type, true, [=] { return makeFold(type, operation); });
}

ExpressionPtr resolveGrouping(const FunctionCall& call, const FunctionContext&) {
  return std::make_shared<GroupingCall>(equalsIgnoreCase(call.name, "grouping"), call.arguments);
}

ExpressionPtr resolveProduct(const FunctionCall& call, const FunctionContext& context) {
  const ExpressionPtr argument = implicitCast(call.arguments[0], doubleType(), call.name, 1, context);
  return makeAggregateCall(call, "product", {argument}, doubleType(), true,
                           [] { return makeFold(doubleType(), FoldOperation::Multiply); });
}

}  // namespace

std::span<const FunctionRow> summaryFunctions() {
  static const FunctionRow rows[] = {
      {"count", 1, -1, resolveCount},
      {"count_if", 1, 1, resolveCountIf},
      {"sum", 1, 1, resolveSum},
      {"try_sum", 1, 1, resolveSum},
      {"avg", 1, 1, resolveAverage},
      {"mean", 1, 1, resolveAverage},
      {"try_avg", 1, 1, resolveAverage},
      {"min", 1, 1, resolveExtreme},
      {"max", 1, 1, resolveExtreme},
      {"every", 1, 1, resolveBooleans},
      {"bool_and", 1, 1, resolveBooleans},
      {"some", 1, 1, resolveBooleans},
      {"any", 1, 1, resolveBooleans},
      {"bool_or", 1, 1, resolveBooleans},
      {"first", 1, 2, resolveFirst},
      {"first_value", 1, 2, resolveFirst},
      {"last", 1, 2, resolveFirst},
      {"last_value", 1, 2, resolveFirst},
      {"any_value", 1, 2, resolveFirst},
      {"min_by", 2, 3, resolveExtremeBy},
      {"max_by", 2, 3, resolveExtremeBy},
      {"bit_and", 1, 1, resolveBits},
      {"bit_or", 1, 1, resolveBits},
      {"bit_xor", 1, 1, resolveBits},
      {"product", 1, 1, resolveProduct},
      {"grouping", 1, 1, resolveGrouping},
      {"grouping_id", 0, -1, resolveGrouping},
  };
  return rows;
}

std::span<const FunctionRow> aggregateFunctions() {
  static const std::vector<FunctionRow> rows = [] {
    std::vector<FunctionRow> all;
    for (const auto part : {summaryFunctions(), statisticFunctions(), collectingFunctions()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rows;
}

}  // namespace thalweg
