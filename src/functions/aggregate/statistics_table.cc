// Statistics: variances, pairs of values, percentiles, the most frequent value, approximate counts.
#include <climits>
#include <utility>

#include <arrow/api.h>

#include "common/error.h"
#include "functions/aggregate/tables.h"
#include "functions/coercion.h"
#include "functions/signature.h"
#include "types/arrow_result.h"

namespace thalweg {
namespace {

MomentResult momentOf(const std::string& name) {
  if (name == "skewness") return MomentResult::Skewness;
  if (name == "kurtosis") return MomentResult::Kurtosis;
  const bool deviation = name.starts_with("std");
  if (name.ends_with("_pop")) return deviation ? MomentResult::DeviationOfAll : MomentResult::VarianceOfAll;
  return deviation ? MomentResult::DeviationOfSample : MomentResult::VarianceOfSample;
}

ExpressionPtr resolveMoments(const FunctionCall& call, const FunctionContext& context) {
  const std::string name = toLowerAscii(call.name);
  const MomentResult result = momentOf(name);
  ExpressionPtr argument = implicitCast(call.arguments[0], doubleType(), call.name, 1, context);
  return makeAggregateCall(call, name, {std::move(argument)}, doubleType(), true,
                           [=] { return makeCentralMoments(result); });
}

std::vector<ExpressionPtr> pairOf(const FunctionCall& call, const FunctionContext& context) {
  return coercedArguments(call, {doubleType(), doubleType()}, context);
}

// regr_…(y, x): y is the dependent value.
ExpressionPtr resolvePair(const FunctionCall& call, const FunctionContext& context) {
  const std::string name = toLowerAscii(call.name);
  std::vector<ExpressionPtr> pair = pairOf(call, context);
  const bool line = name == "regr_slope" || name == "regr_intercept";
  const PairResult result = name == "covar_pop"    ? PairResult::CovarianceOfAll
                            : name == "covar_samp" ? PairResult::CovarianceOfSample
                            : name == "corr"       ? PairResult::Correlation
                            : name == "regr_r2"    ? PairResult::Determination
                            : name == "regr_sxy"   ? PairResult::Products
                            : name == "regr_slope" ? PairResult::Slope
                                                   : PairResult::Intercept;
  if (line) std::swap(pair[0], pair[1]);
  const bool ansi = context.ansi;
  const ExpressionPtr made = makeAggregateCall(call, name, std::move(pair), doubleType(), true,
                                               [=] { return makePairMoments(result, ansi); });
  return line ? printedAs(made, callText(call)) : made;
}

ExpressionPtr resolveRegressionCount(const FunctionCall& call, const FunctionContext& context) {
  return makeAggregateCall(call, "regr_count", pairOf(call, context), longType(), false,
                           [] { return makeCount(); });
}

// One side of the pairs that have both.
ExpressionPtr resolveRegressionSide(const FunctionCall& call, const FunctionContext& context) {
  const std::string name = toLowerAscii(call.name);
  const size_t side = name == "regr_avgx" || name == "regr_sxx" ? 1 : 0;
  std::vector<ExpressionPtr> pair = call.arguments;
  if (!name.starts_with("regr_avg")) pair = pairOf(call, context);
  const ExpressionPtr both = resolveFunction({"isnotnull", {pair[1 - side]}}, context);
  const ExpressionPtr value = std::make_shared<CaseWhen>(std::vector<ExpressionPtr>{both, pair[side]});
  // Averages keep the type that avg has.
  if (name.starts_with("regr_avg")) return printedAs(resolveFunction({"avg", {value}}, context), callText(call));
  return printedAs(makeAggregateCall(call, name, {value}, doubleType(), true,
                                     [] { return makeCentralMoments(MomentResult::Squares); }),
                   callText(call));
}

ExpressionPtr resolveDistinctCount(const FunctionCall& call, const FunctionContext& context) {
  double error = 0.05;
  if (call.arguments.size() == 2) {
    const ExpressionPtr given = implicitCast(call.arguments[1], doubleType(), call.name, 2, context);
    const auto value = constantArgument(given, call.name, "relativeSD");
    if (value->is_valid) error = static_cast<const arrow::DoubleScalar&>(*value).value;
  }
  const int precision = error > 0 ? distinctCountPrecision(error) : INT_MAX;
  if (precision < 4 || precision > 21) {
    throw Error("FAILED_FUNCTION_CALL",
                "The relative error of approx_count_distinct must lie between 0.001 and 0.39, but is " +
                    std::to_string(error) + ".",
                {{"funcName", "`approx_count_distinct`"}});
  }
  const DataTypePtr type = call.arguments[0]->type();
  const ExpressionPtr made = makeAggregateCall(call, "approx_count_distinct", {call.arguments[0]}, longType(),
                                               false, [=] { return makeDistinctCount(type, precision); });
  return printedAs(
      made, call.arguments.size() == 2 ? "approx_count_distinct(" + call.arguments[0]->toString() + ")" : "");
}

// percentages: a number of 0 to 1, or an array of them.
PercentileSpec percentagesOf(const FunctionCall& call, const ExpressionPtr& argument,
                             const FunctionContext& context) {
  PercentileSpec spec;
  spec.isArray = argument->type()->id() == TypeId::Array;
  const DataTypePtr wanted = spec.isArray ? DataType::array(doubleType()) : doubleType();
  const auto value =
      constantArgument(implicitCast(argument, wanted, call.name, 2, context), call.name, "percentage");
  std::shared_ptr<arrow::Array> numbers;
  if (value->is_valid) {
    numbers = spec.isArray ? static_cast<const arrow::ListScalar&>(*value).value
                           : valueOrThrow(arrow::MakeArrayFromScalar(*value, 1));
  }
  for (int64_t i = 0; numbers && i < numbers->length(); ++i) {
    const double percentage =
        numbers->IsNull(i) ? -1 : static_cast<const arrow::DoubleArray&>(*numbers).Value(i);
    if (!(percentage >= 0 && percentage <= 1))
      numbers = nullptr;
    else
      spec.percentages.push_back(percentage);
  }
  if (!numbers) {
    throw Error(
        "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE",
        std::string(call.name) + " takes percentages from 0 to 1, not '" + argument->toString() + "'.",
        {{"sqlExpr", "\"" + std::string(call.name) + "\""},
         {"exprName", "percentage"},
         {"valueRange", "[0.0, 1.0]"},
         {"currentValue", argument->toString()}});
  }
  return spec;
}

DataTypePtr resultType(const PercentileSpec& spec, const DataTypePtr& one) {
  return spec.isArray ? DataType::array(one, false) : one;
}

bool isInterval(const DataType& type) {
  return type.id() == TypeId::DayTimeInterval || type.id() == TypeId::YearMonthInterval;
}

// Numbers and intervals stay as they are: their type is the state's.
ExpressionPtr numbersOf(const FunctionCall& call, const ExpressionPtr& argument,
                        const FunctionContext& context) {
  if (argument->type()->isNumeric() || isInterval(*argument->type())) return argument;
  return implicitCast(argument, doubleType(), call.name, 1, context);
}

ExpressionPtr percentileCall(const FunctionCall& call, std::vector<ExpressionPtr> arguments,
                             PercentileSpec spec) {
  const DataTypePtr input = arguments[0]->type();
  const DataTypePtr type = resultType(spec, isInterval(*input) ? input : doubleType());
  return makeAggregateCall(call, toLowerAscii(call.name), std::move(arguments), type, true,
                           [=] { return makePercentile(input, spec); });
}

ExpressionPtr resolvePercentile(const FunctionCall& call, const FunctionContext& context) {
  std::vector<ExpressionPtr> arguments = {numbersOf(call, call.arguments[0], context)};
  if (call.arguments.size() == 3)
    arguments.push_back(implicitCast(call.arguments[2], longType(), call.name, 3, context));
  std::string text = callText(call);
  if (call.arguments.size() == 2) {
    text.pop_back();
    text += ", 1)";
  }
  return printedAs(
      percentileCall(call, std::move(arguments), percentagesOf(call, call.arguments[1], context)),
      std::move(text));
}

ExpressionPtr resolveMedian(const FunctionCall& call, const FunctionContext& context) {
  return printedAs(
      percentileCall(call, {numbersOf(call, call.arguments[0], context)}, {.percentages = {0.5}}),
      callText(call));
}

std::string withinGroupText(const FunctionCall& call) {
  std::string text = " WITHIN GROUP (ORDER BY ";
  for (size_t i = 0; i < call.withinGroup.size(); ++i) {
    const auto& order = static_cast<const SortOrder&>(*call.withinGroup[i]);
    text += (i ? ", " : "") + order.children()[0]->toString() + (order.ascending() ? "" : " DESC");
  }
  return text + ")";
}

const SortOrder& onlyOrder(const FunctionCall& call) {
  if (call.withinGroup.size() != 1) {
    throw Error("INVALID_WITHIN_GROUP_EXPRESSION.WITHIN_GROUP_MISSING",
                std::string(call.name) + " takes WITHIN GROUP (ORDER BY …) with one expression.",
                {{"funcName", "`" + std::string(call.name) + "`"}});
  }
  return static_cast<const SortOrder&>(*call.withinGroup[0]);
}

// percentile_cont(p) WITHIN GROUP (ORDER BY x [DESC])
ExpressionPtr resolvePercentileWithin(const FunctionCall& call, const FunctionContext& context) {
  const SortOrder& order = onlyOrder(call);
  PercentileSpec spec = percentagesOf(call, call.arguments[0], context);
  spec.descending = !order.ascending();
  spec.discrete = equalsIgnoreCase(call.name, "percentile_disc");
  const ExpressionPtr made = percentileCall(call, {numbersOf(call, order.children()[0], context)}, spec);
  return printedAs(made, callText(call), withinGroupText(call));
}

ExpressionPtr resolveMode(const FunctionCall& call, const FunctionContext& context) {
  ModeTie tie = ModeTie::First;
  ExpressionPtr argument = call.arguments.empty() ? nullptr : call.arguments[0];
  if (!argument) {
    const SortOrder& order = onlyOrder(call);
    argument = order.children()[0];
    tie = order.ascending() ? ModeTie::Least : ModeTie::Greatest;
  } else if (call.arguments.size() == 2) {
    const auto flag = constantArgument(implicitCast(call.arguments[1], booleanType(), call.name, 2, context),
                                       call.name, "deterministic");
    if (flag->is_valid && static_cast<const arrow::BooleanScalar&>(*flag).value) tie = ModeTie::Least;
  }
  const DataTypePtr type = argument->type();
  makeMode(type, tie);  // refuses types without an order
  const ExpressionPtr made = makeAggregateCall(
      call, "mode", {argument}, type, true, [=] { return makeMode(type, tie); },
      /*orderMatters=*/tie == ModeTie::First);
  if (tie == ModeTie::First) return made;
  // Spark prints the order the other way round.
  return printedAs(
      made, "mode()",
      " WITHIN GROUP (ORDER BY " + argument->toString() + (tie == ModeTie::Least ? " DESC)" : ")"));
}

bool hasRanks(const DataType& type) {
  switch (type.id()) {
    case TypeId::Date:
    case TypeId::Timestamp:
    case TypeId::TimestampNtz:
      return true;
    default:
      return type.isNumeric() || isInterval(type);
  }
}

ExpressionPtr resolveApproximatePercentile(const FunctionCall& call, const FunctionContext& context) {
  int64_t accuracy = 10000;
  if (call.arguments.size() == 3) {
    const auto value = constantArgument(implicitCast(call.arguments[2], longType(), call.name, 3, context),
                                        call.name, "accuracy");
    accuracy = value->is_valid ? static_cast<const arrow::Int64Scalar&>(*value).value : 0;
    if (accuracy <= 0 || accuracy > INT32_MAX) {
      throw Error("DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE",
                  std::string(call.name) + " takes an accuracy from 1 to 2147483647.",
                  {{"sqlExpr", "\"" + std::string(call.name) + "\""},
                   {"exprName", "accuracy"},
                   {"valueRange", "(0, 2147483647]"},
                   {"currentValue", std::to_string(accuracy)}});
    }
  }
  ExpressionPtr argument = call.arguments[0];
  if (!hasRanks(*argument->type())) argument = implicitCast(argument, doubleType(), call.name, 1, context);
  const PercentileSpec spec = percentagesOf(call, call.arguments[1], context);
  const DataTypePtr input = argument->type();
  const auto relative = static_cast<double>(accuracy);
  std::string text = callText(call);
  if (call.arguments.size() == 2) {
    text.pop_back();
    text += ", 10000)";
  }
  return printedAs(
      makeAggregateCall(
          call, toLowerAscii(call.name), {argument}, resultType(spec, input), true,
          [=] { return makeApproximatePercentile(input, spec, relative); }, /*orderMatters=*/true),
      std::move(text));
}

}  // namespace

std::span<const FunctionRow> statisticFunctions() {
  static const FunctionRow rows[] = {
      {"std", 1, 1, resolveMoments},
      {"stddev", 1, 1, resolveMoments},
      {"stddev_samp", 1, 1, resolveMoments},
      {"stddev_pop", 1, 1, resolveMoments},
      {"variance", 1, 1, resolveMoments},
      {"var_samp", 1, 1, resolveMoments},
      {"var_pop", 1, 1, resolveMoments},
      {"skewness", 1, 1, resolveMoments},
      {"kurtosis", 1, 1, resolveMoments},
      {"covar_pop", 2, 2, resolvePair},
      {"covar_samp", 2, 2, resolvePair},
      {"corr", 2, 2, resolvePair},
      {"regr_r2", 2, 2, resolvePair},
      {"regr_sxy", 2, 2, resolvePair},
      {"regr_slope", 2, 2, resolvePair},
      {"regr_intercept", 2, 2, resolvePair},
      {"regr_count", 2, 2, resolveRegressionCount},
      {"regr_avgx", 2, 2, resolveRegressionSide},
      {"regr_avgy", 2, 2, resolveRegressionSide},
      {"regr_sxx", 2, 2, resolveRegressionSide},
      {"regr_syy", 2, 2, resolveRegressionSide},
      {"approx_count_distinct", 1, 2, resolveDistinctCount},
      {"percentile", 2, 3, resolvePercentile},
      {"percentile_cont", 1, 1, resolvePercentileWithin},
      {"percentile_disc", 1, 1, resolvePercentileWithin},
      {"median", 1, 1, resolveMedian},
      {"mode", 0, 2, resolveMode},
      {"percentile_approx", 2, 3, resolveApproximatePercentile},
      {"approx_percentile", 2, 3, resolveApproximatePercentile},
  };
  return rows;
}

}  // namespace thalweg
