// What every aggregate function of the table owes to those who merge its groups, and says of its memory.
#include <functional>
#include <numeric>

#include <arrow/api.h>
#include <arrow/compute/initialize.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "expr/aggregate.h"
#include "expr/cast/value_text.h"
#include "functions/registry.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

using Arrays = std::vector<std::shared_ptr<arrow::Array>>;
using Groups = std::vector<uint32_t>;

// Of one column each: long, double, boolean, and texts that do not lie within their strings.
std::shared_ptr<arrow::RecordBatch> rows(int64_t count) {
  arrow::Int64Builder longs;
  arrow::DoubleBuilder doubles;
  arrow::BooleanBuilder booleans;
  arrow::StringBuilder texts;
  for (int64_t row = 0; row < count; ++row) {
    throwIfFailed(longs.Append(row * 7 % 11));
    throwIfFailed(doubles.Append(static_cast<double>(row * 5 % 7) + 0.25));
    throwIfFailed(booleans.Append(row % 3 == 0));
    throwIfFailed(texts.Append("a text of some length, " + std::to_string(row * 3 % 5)));
  }
  const arrow::ArrayVector columns = {valueOrThrow(longs.Finish()), valueOrThrow(doubles.Finish()),
                                      valueOrThrow(booleans.Finish()), valueOrThrow(texts.Finish())};
  const SchemaPtr schema =
      DataType::structOf({{"l", longType()}, {"d", doubleType()}, {"b", booleanType()}, {"s", stringType()}});
  return arrow::RecordBatch::Make(toArrowSchema(*schema), count, columns);
}

ExpressionPtr column(int number) {
  static const std::vector<DataTypePtr> types = {longType(), doubleType(), booleanType(), stringType()};
  return std::make_shared<BoundReference>(number, types[static_cast<size_t>(number)], true,
                                          "c" + std::to_string(number));
}

void collect(const ExpressionPtr& expression, std::vector<std::shared_ptr<const AggregateCall>>* calls) {
  if (auto call = std::dynamic_pointer_cast<const AggregateCall>(expression))
    return calls->push_back(std::move(call));
  for (const ExpressionPtr& child : expression->children()) collect(child, calls);
}

std::unique_ptr<Aggregator> aggregatorOf(const AggregateCall& call, const Groups& groups, int64_t numGroups) {
  auto aggregator = call.spec().make();
  aggregator->resize(numGroups);
  const BatchContext batch;
  const auto count = static_cast<int64_t>(groups.size());
  Arrays arguments;
  for (const ExpressionPtr& argument : call.arguments())
    arguments.push_back(
        evaluateToArray(*argument, *rows(count), Selection::all(count), EvaluationContext{&batch}));
  aggregator->update(groups, arguments, Selection::all(count));
  return aggregator;
}

std::string textOf(const AggregateCall& call, const Aggregator& aggregator, int64_t numGroups) {
  Groups groups(static_cast<size_t>(numGroups));
  std::iota(groups.begin(), groups.end(), 0U);
  return aggregator.finish(groups, arrow::default_memory_pool())->ToString();
}

// The calls of a function over those arguments that it takes, with and without DISTINCT.
std::vector<std::shared_ptr<const AggregateCall>> callsOf(std::string_view name) {
  const std::vector<std::vector<ExpressionPtr>> arguments = {{column(0)},
                                                             {column(1)},
                                                             {column(2)},
                                                             {column(3)},
                                                             {column(1), column(0)},
                                                             {column(3), column(0)},
                                                             {column(0), Literal::of(0.5)}};
  std::vector<std::shared_ptr<const AggregateCall>> calls;
  for (const auto& of : arguments) {
    for (const bool distinct : {false, true}) {
      try {
        std::vector<std::shared_ptr<const AggregateCall>> some;
        collect(resolveFunction({name, of, distinct}, FunctionContext()), &some);
        // Not those over texts that are no numbers, nor a correlation with a constant.
        for (const auto& call : some) {
          const auto result =
              aggregatorOf(*call, {0, 0, 0, 0}, 1)->finish(Groups{0}, arrow::default_memory_pool());
          if (result->IsValid(0)) calls.push_back(call);
        }
      } catch (const Error&) {
      }
    }
  }
  return calls;
}

class EveryAggregate : public ::testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(arrow::compute::Initialize().ok()); }
};

std::vector<std::string> allNames() {
  std::vector<std::string> names;
  for (const FunctionRow& row : aggregateFunctions()) {
    // Calls of their own, of which there are no groups; and those that take their values from WITHIN GROUP,
    // as percentile does.
    if (row.name.starts_with("grouping") || row.name.starts_with("percentile_cont") ||
        row.name.starts_with("percentile_disc"))
      continue;
    names.emplace_back(row.name);
  }
  return names;
}

// As if each pair were merged alone.
TEST_P(EveryAggregate, MergesGroupsThatAreNamedSeveralTimes) {
  const auto calls = callsOf(GetParam());
  ASSERT_FALSE(calls.empty());
  const Groups from = {0, 1, 0, 2, 0, 1}, to = {3, 3, 1, 1, 0, 1};
  for (const auto& call : calls) {
    const auto part = aggregatorOf(*call, {0, 1, 0, 1, 2, 0, 1, 2, 0, 0, 1, 2}, 3);
    const auto once = call->spec().make(), alone = call->spec().make();
    once->resize(4);
    alone->resize(4);
    once->merge(from, to, *part);
    for (size_t i = 0; i < from.size(); ++i)
      alone->merge(std::span(from).subspan(i, 1), std::span(to).subspan(i, 1), *part);
    EXPECT_EQ(textOf(*call, *once, 4), textOf(*call, *alone, 4)) << call->toString();
    EXPECT_NE(textOf(*call, *once, 4), textOf(*call, *aggregatorOf(*call, {}, 4), 4)) << call->toString();
  }
}

// Groups of one that it merges into others of its own, as sessions do.
TEST_P(EveryAggregate, MergesGroupsOfItsOwn) {
  for (const auto& call : callsOf(GetParam())) {
    const Groups groups = {0, 1, 0, 1, 2, 0, 1, 2, 0, 0, 1, 2}, from = {1, 2}, to = {0, 0};
    const auto own = aggregatorOf(*call, groups, 3), other = aggregatorOf(*call, groups, 3);
    if (own->bufferFields().empty()) continue;  // not over streams
    own->merge(from, to, *own);
    other->merge(from, to, *aggregatorOf(*call, groups, 3));
    EXPECT_EQ(textOf(*call, *own, 1), textOf(*call, *other, 1)) << call->toString();
  }
}

TEST_P(EveryAggregate, SaysWhatItsGroupsTake) {
  constexpr int64_t kRows = 30'000, kGroups = 3'000;
  Groups groups(kRows), all(kGroups);
  for (size_t row = 0; row < groups.size(); ++row) groups[row] = static_cast<uint32_t>(row % kGroups);
  std::iota(all.begin(), all.end(), 0U);
  for (const auto& call : callsOf(GetParam())) {
    const auto aggregator = aggregatorOf(*call, groups, kGroups);
    EXPECT_GT(aggregator->bytes().each, 0) << call->toString();
    const int64_t before = aggregator->bytes().values;
    if (aggregator->bufferFields().empty()) continue;  // not over streams: groups are not emptied
    aggregator->reset(std::span(all).subspan(kGroups / 2));
    EXPECT_LE(aggregator->bytes().values, before) << call->toString();
    if (before > 0) {
      EXPECT_LT(aggregator->bytes().values, before * 6 / 10) << call->toString();
    }
    aggregator->reset(all);
    EXPECT_EQ(aggregator->bytes().values, 0) << call->toString();
  }
}

INSTANTIATE_TEST_SUITE_P(Table, EveryAggregate, ::testing::ValuesIn(allNames()));

// Of 3000 groups of ten texts, 24 bytes each.
TEST(AggregateBytes, CountWhatGrows) {
  constexpr int64_t kRows = 30'000, kGroups = 3'000;
  Groups groups(kRows);
  for (size_t row = 0; row < groups.size(); ++row) groups[row] = static_cast<uint32_t>(row % kGroups);
  const auto valuesOf = [&](std::string_view name, int argument) {
    std::vector<std::shared_ptr<const AggregateCall>> calls;
    collect(resolveFunction({name, {column(argument)}}, FunctionContext()), &calls);
    return aggregatorOf(*calls.at(0), groups, kGroups)->bytes();
  };
  EXPECT_GT(valuesOf("collect_list", 3).values, kRows * 24);
  EXPECT_LT(valuesOf("collect_list", 3).values, kRows * 24 * 3);
  EXPECT_GT(valuesOf("max", 3).values, kGroups * 24);
  EXPECT_LT(valuesOf("max", 3).values, kGroups * 24 * 3);
  EXPECT_GT(valuesOf("first", 3).values, kGroups * 24);
  EXPECT_EQ(valuesOf("max", 0).values, 0);
  EXPECT_GT(valuesOf("approx_count_distinct", 3).each, 300);
}

}  // namespace
}  // namespace thalweg
