// Aggregate functions.
#include "common/error.h"
#include "functions/aggregate/accumulators.h"
#include "functions/coercion.h"
#include "functions/registry.h"

namespace thalweg {
namespace {

ExpressionPtr makeAggregateCall(const FunctionCall& call, std::string name,
                                std::vector<ExpressionPtr> arguments, DataTypePtr type, bool nullable,
                                AggregateCall::Factory make, bool orderMatters = false) {
  if (call.distinct) throw unsupported("DISTINCT inside an aggregate function");
  auto spec = std::make_shared<AggregateCall::Spec>();
  spec->name = std::move(name);
  spec->type = std::move(type);
  spec->nullable = nullable;
  spec->make = std::move(make);
  spec->orderMatters = orderMatters;
  return std::make_shared<AggregateCall>(std::move(spec), std::move(arguments));
}

ExpressionPtr resolveCount(const FunctionCall& call, const FunctionContext&) {
  return makeAggregateCall(call, "count", call.arguments, longType(), false, [] { return makeCount(); });
}

// The argument as a number of its summing kind.
ExpressionPtr numericArgument(const FunctionCall& call, const FunctionContext& context) {
  ExpressionPtr argument = call.arguments[0];
  if (argument->type()->isIntegral()) return castTo(argument, longType(), CastMode::Ansi);
  if (argument->type()->id() == TypeId::Decimal) return argument;
  return implicitCast(argument, doubleType(), call.name, 1, context);
}

ExpressionPtr resolveSum(const FunctionCall& call, const FunctionContext& context) {
  const ExpressionPtr argument = numericArgument(call, context);
  DataTypePtr type = argument->type();
  if (type->id() == TypeId::Decimal)
    type = DataType::decimal(std::min(38, type->precision() + 10), type->scale());
  const DataTypePtr input = argument->type();
  const bool ansi = context.ansi;
  return makeAggregateCall(call, "sum", {argument}, type, true, [=] { return makeSum(input, type, ansi); });
}

ExpressionPtr resolveAverage(const FunctionCall& call, const FunctionContext& context) {
  ExpressionPtr argument = numericArgument(call, context);
  DataTypePtr type = doubleType();
  if (argument->type()->id() == TypeId::Decimal) {
    const DataType& input = *argument->type();
    type = DataType::decimal(std::min(38, input.precision() + 4), std::min(38, input.scale() + 4));
  } else {
    argument = castTo(argument, doubleType(), context.castMode());
  }
  const DataTypePtr input = argument->type();
  const bool ansi = context.ansi;
  return makeAggregateCall(call, "avg", {argument}, type, true,
                           [=] { return makeAverage(input, type, ansi); });
}

ExpressionPtr resolveExtreme(const FunctionCall& call, const FunctionContext&) {
  const DataTypePtr type = call.arguments[0]->type();
  const bool least = equalsIgnoreCase(call.name, "min");
  makeExtreme(type, least);  // refuses types without an order
  return makeAggregateCall(call, least ? "min" : "max", call.arguments, type, true,
                           [=] { return makeExtreme(type, least); });
}

ExpressionPtr resolveExtremeBy(const FunctionCall& call, const FunctionContext&) {
  const DataTypePtr type = call.arguments[0]->type();
  const DataTypePtr ordering = call.arguments[1]->type();
  const bool least = equalsIgnoreCase(call.name, "min_by");
  makeExtreme(ordering, least);  // refuses types without an order
  return makeAggregateCall(call, toLowerAscii(call.name), call.arguments, type, true,
                           [=] { return makeExtremeBy(type, ordering, least); });
}

ExpressionPtr resolveMoments(const FunctionCall& call, const FunctionContext& context) {
  const std::string name = toLowerAscii(call.name);
  const MomentResult result{!name.ends_with("_pop"), name.starts_with("std")};
  ExpressionPtr argument = implicitCast(call.arguments[0], doubleType(), call.name, 1, context);
  return makeAggregateCall(call, name, {std::move(argument)}, doubleType(), true,
                           [=] { return makeCentralMoments(result); });
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
  return makeAggregateCall(call, name, {call.arguments[0]}, type, true,
                           [=] { return makeFirst(type, last, ignoreNulls); }, /*orderMatters=*/true);
}

}  // namespace

std::span<const FunctionRow> aggregateFunctions() {
  static const FunctionRow rows[] = {
      {"count", 1, -1, resolveCount},       {"sum", 1, 1, resolveSum},
      {"avg", 1, 1, resolveAverage},        {"mean", 1, 1, resolveAverage},
      {"min", 1, 1, resolveExtreme},        {"max", 1, 1, resolveExtreme},
      {"first", 1, 2, resolveFirst},        {"first_value", 1, 2, resolveFirst},
      {"last", 1, 2, resolveFirst},         {"last_value", 1, 2, resolveFirst},
      {"any_value", 1, 2, resolveFirst},    {"min_by", 2, 2, resolveExtremeBy},
      {"max_by", 2, 2, resolveExtremeBy},   {"std", 1, 1, resolveMoments},
      {"stddev", 1, 1, resolveMoments},     {"stddev_samp", 1, 1, resolveMoments},
      {"stddev_pop", 1, 1, resolveMoments}, {"variance", 1, 1, resolveMoments},
      {"var_samp", 1, 1, resolveMoments},   {"var_pop", 1, 1, resolveMoments},
  };
  return rows;
}

}  // namespace thalweg
