// Joins through the planner: what comes out of small tables by hand, and of random ones as pairs tried one by
// one.
#include "exec/operators/join.h"

#include <algorithm>
#include <random>

#include <arrow/api.h>
#include <arrow/compute/initialize.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "exec/planner/planner.h"
#include "functions/registry.h"
#include "plan/optimize/optimizer.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

using OptionalLong = std::optional<int64_t>;
// A row (k, v).
using Row = std::pair<OptionalLong, OptionalLong>;
using TableRows = std::vector<Row>;

constexpr JoinType kTypes[] = {JoinType::Inner,      JoinType::Cross,     JoinType::LeftOuter,
                               JoinType::RightOuter, JoinType::FullOuter, JoinType::LeftSemi,
                               JoinType::LeftAnti};

std::shared_ptr<arrow::RecordBatch> batchOf(const TableRows& rows) {
  arrow::Int64Builder keys, values;
  for (const auto& [key, value] : rows) {
    throwIfFailed(key ? keys.Append(*key) : keys.AppendNull());
    throwIfFailed(value ? values.Append(*value) : values.AppendNull());
  }
  const SchemaPtr schema = DataType::structOf({{"k", longType()}, {"v", longType()}});
  return arrow::RecordBatch::Make(toArrowSchema(*schema), static_cast<int64_t>(rows.size()),
                                  {valueOrThrow(keys.Finish()), valueOrThrow(values.Finish())});
}

std::string textOf(const std::vector<OptionalLong>& values) {
  std::string text;
  for (const OptionalLong& value : values)
    text += (text.empty() ? "" : "|") + (value ? std::to_string(*value) : "-");
  return text;
}

class JoinTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(arrow::compute::Initialize().ok()); }

  // A table whose rows lie in as many partitions, each of batches of at most three rows.
  static LogicalPtr table(const TableRows& rows, int partitions = 1) {
    const auto output = attributesOf(*DataType::structOf({{"k", longType()}, {"v", longType()}}));
    std::vector<std::vector<std::shared_ptr<arrow::RecordBatch>>> parts(static_cast<size_t>(partitions));
    for (size_t at = 0, part = 0; at < rows.size(); at += 3, ++part) {
      const auto end = rows.begin() + static_cast<std::ptrdiff_t>(std::min(at + 3, rows.size()));
      parts[part % parts.size()].push_back(batchOf({rows.begin() + static_cast<std::ptrdiff_t>(at), end}));
    }
    std::vector<LogicalPtr> children;
    for (auto& part : parts) {
      children.push_back(std::make_shared<LogicalLocalRelation>(
          partitions == 1 ? output
                          : attributesOf(*DataType::structOf({{"k", longType()}, {"v", longType()}})),
          std::move(part)));
    }
    if (partitions == 1) return children[0];
    return std::make_shared<LogicalUnion>(std::move(children));
  }

  static ExpressionPtr call(std::string_view name, std::vector<ExpressionPtr> arguments) {
    return resolveFunction({name, std::move(arguments)}, FunctionContext());
  }
  static ExpressionPtr column(const LogicalPtr& side, int index) {
    return side->output()[static_cast<size_t>(index)];
  }
  static ExpressionPtr sameKey(const LogicalPtr& left, const LogicalPtr& right) {
    return call("==", {column(left, 0), column(right, 0)});
  }

  std::vector<std::shared_ptr<arrow::RecordBatch>> batches(const PhysicalNode& physical) {
    Execution execution;
    execution.pool = &pool_;
    return collectAll(*physical.start(execution), execution);
  }

  // The rows as texts, sorted.
  std::vector<std::string> run(const PhysicalNode& physical) {
    std::vector<std::string> rows;
    for (const auto& batch : batches(physical)) {
      for (int64_t row = 0; row < batch->num_rows(); ++row) {
        std::vector<OptionalLong> values;
        for (const auto& array : batch->columns()) {
          if (array->IsNull(row))
            values.emplace_back();
          else
            values.emplace_back(static_cast<const arrow::Int64Array&>(*array).Value(row));
        }
        rows.push_back(textOf(values));
      }
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }
  std::vector<std::string> run(const LogicalPtr& plan) {
    return run(*planPhysical(optimize(plan), BatchContext()));
  }
  std::vector<std::string> join(JoinType type, const ExpressionPtr& condition, const LogicalPtr& left,
                                const LogicalPtr& right) {
    return run(std::make_shared<LogicalJoin>(type, condition, left, right));
  }

  TaskPool pool_{2};
  using Rows = std::vector<std::string>;
};

TEST_F(JoinTest, EveryTypeSaysWhatBecomesOfRowsWithoutAPartner) {
  const LogicalPtr left = table({{1, 10}, {2, 20}, {2, 21}, {{}, 30}});
  const LogicalPtr right = table({{2, 200}, {2, 201}, {3, 300}, {{}, 400}});
  const Rows pairs = {"2|20|2|200", "2|20|2|201", "2|21|2|200", "2|21|2|201"};
  const auto with = [&](Rows more) {
    more.insert(more.end(), pairs.begin(), pairs.end());
    std::sort(more.begin(), more.end());
    return more;
  };
  const ExpressionPtr same = sameKey(left, right);
  EXPECT_EQ(join(JoinType::Inner, same, left, right), pairs);
  EXPECT_EQ(join(JoinType::Cross, same, left, right), pairs);
  EXPECT_EQ(join(JoinType::LeftOuter, same, left, right), with({"1|10|-|-", "-|30|-|-"}));
  EXPECT_EQ(join(JoinType::RightOuter, same, left, right), with({"-|-|3|300", "-|-|-|400"}));
  EXPECT_EQ(join(JoinType::FullOuter, same, left, right),
            with({"1|10|-|-", "-|30|-|-", "-|-|3|300", "-|-|-|400"}));
  EXPECT_EQ(join(JoinType::LeftSemi, same, left, right), (Rows{"2|20", "2|21"}));
  EXPECT_EQ(join(JoinType::LeftAnti, same, left, right), (Rows{"-|30", "1|10"}));
}

TEST_F(JoinTest, NullKeysMatchUnderTheNullSafeEqualityAlone) {
  const LogicalPtr left = table({{{}, 1}, {5, 2}});
  const LogicalPtr right = table({{{}, 3}, {5, 4}});
  EXPECT_EQ(join(JoinType::Inner, sameKey(left, right), left, right), (Rows{"5|2|5|4"}));
  const ExpressionPtr nullSafe = call("<=>", {column(left, 0), column(right, 0)});
  EXPECT_EQ(join(JoinType::Inner, nullSafe, left, right), (Rows{"-|1|-|3", "5|2|5|4"}));
}

// The condition of an outer join decides what matches, not what stays.
TEST_F(JoinTest, TheRestOfTheConditionIsAskedOfEachPair) {
  const LogicalPtr left = table({{1, 10}, {1, 30}});
  const LogicalPtr right = table({{1, 20}});
  const ExpressionPtr both =
      call("and", {sameKey(left, right), call("<", {column(left, 1), column(right, 1)})});
  EXPECT_EQ(join(JoinType::LeftOuter, both, left, right), (Rows{"1|10|1|20", "1|30|-|-"}));
  EXPECT_EQ(join(JoinType::LeftSemi, both, left, right), (Rows{"1|10"}));
  EXPECT_EQ(join(JoinType::LeftAnti, both, left, right), (Rows{"1|30"}));
}

TEST_F(JoinTest, AnErrorInTheConditionCountsForPairsOfEqualKeysAlone) {
  const LogicalPtr left = table({{1, 10}, {2, 20}});
  const LogicalPtr right = table({{1, 7}, {3, 20}});
  const ExpressionPtr difference = call("-", {column(left, 1), column(right, 1)});  // 0 for 20 and 20 only
  const ExpressionPtr condition =
      call("and", {sameKey(left, right),
                   call("<", {call("div", {Literal::of(int64_t{9}), difference}), Literal::of(int64_t{5})})});
  EXPECT_EQ(join(JoinType::Inner, condition, left, right), (Rows{"1|10|1|7"}));
}

TEST_F(JoinTest, EmptySides) {
  const LogicalPtr none = table({});
  const LogicalPtr noneToo = table({});
  const LogicalPtr one = table({{1, 10}});
  for (const bool keyed : {true, false}) {
    const auto condition = [&](const LogicalPtr& left, const LogicalPtr& right) {
      return keyed ? sameKey(left, right) : nullptr;
    };
    EXPECT_EQ(join(JoinType::Inner, condition(one, none), one, none), Rows{});
    EXPECT_EQ(join(JoinType::LeftOuter, condition(one, none), one, none), (Rows{"1|10|-|-"}));
    EXPECT_EQ(join(JoinType::FullOuter, condition(none, one), none, one), (Rows{"-|-|1|10"}));
    EXPECT_EQ(join(JoinType::LeftSemi, condition(one, none), one, none), Rows{});
    EXPECT_EQ(join(JoinType::LeftAnti, condition(one, none), one, none), (Rows{"1|10"}));
    EXPECT_EQ(join(JoinType::FullOuter, condition(none, noneToo), none, noneToo), Rows{});
  }
}

// INTERSECT ALL and EXCEPT ALL: a key comes out as often as it has partners, or as it lacks them.
TEST_F(JoinTest, EachRowMayBeAPartnerOnce) {
  const LogicalPtr left = table({{1, 0}, {2, 0}, {2, 0}, {2, 0}, {{}, 0}, {{}, 0}}, 2);
  const LogicalPtr right = table({{2, 0}, {2, 0}, {{}, 0}, {3, 0}});
  const ExpressionPtr same = call("<=>", {column(left, 0), column(right, 0)});
  const auto joined = [&](JoinType type) {
    return run(std::make_shared<LogicalJoin>(type, same, left, right, /*eachOnce=*/true));
  };
  EXPECT_EQ(joined(JoinType::LeftSemi), (Rows{"-|0", "2|0", "2|0"}));
  EXPECT_EQ(joined(JoinType::LeftAnti), (Rows{"-|0", "1|0", "2|0"}));
}

// A side without partitions at all (a table without files) does not lose the other side's rows.
TEST_F(JoinTest, AProbingSideWithoutPartitionsStillLetsTheBuiltSideOut) {
  class EmptyTable final : public Table {
   public:
    const SchemaPtr& schema() const override { return schema_; }
    std::vector<SplitPtr> planScan(const std::vector<ColumnPredicate>&) const override { return {}; }
    std::string description() const override { return "empty"; }

   private:
    SchemaPtr schema_ = DataType::structOf({{"k", longType()}, {"v", longType()}});
  };
  const auto empty = std::make_shared<EmptyTable>();
  const LogicalPtr left =
      std::make_shared<LogicalTableScan>(empty, std::vector<int>{0, 1}, attributesOf(*empty->schema()));
  const LogicalPtr right = table({{1, 10}});
  EXPECT_EQ(join(JoinType::RightOuter, sameKey(left, right), left, right), (Rows{"-|-|1|10"}));
}

TEST_F(JoinTest, ARowWithManyPartnersIsCutOverBatches) {
  const int64_t many = 150'000;
  const auto output = [] {
    return std::vector<AttributePtr>{
        std::make_shared<Attribute>("id", longType(), false, nextExpressionId())};
  };
  const LogicalPtr left = std::make_shared<LogicalRange>(0, 2, 1, 1, output());
  const LogicalPtr right = std::make_shared<LogicalRange>(0, many, 1, 3, output());
  const ExpressionPtr oneKey = call(
      "==", {call("-", {column(left, 0), column(left, 0)}), call("-", {column(right, 0), column(right, 0)})});
  for (const ExpressionPtr& condition : {ExpressionPtr(), oneKey}) {
    const LogicalPtr plan = std::make_shared<LogicalJoin>(JoinType::Inner, condition, left, right);
    int64_t rows = 0;
    for (const auto& batch : batches(*planPhysical(plan, BatchContext()))) {
      EXPECT_LE(batch->num_rows(), 65536);
      rows += batch->num_rows();
    }
    EXPECT_EQ(rows, 2 * many);
  }
}

TEST_F(JoinTest, CancellationEndsAJoinOfManyPairs) {
  const auto output = [] {
    return std::vector<AttributePtr>{
        std::make_shared<Attribute>("id", longType(), false, nextExpressionId())};
  };
  const LogicalPtr left = std::make_shared<LogicalRange>(0, 1'000'000, 1, 2, output());
  const LogicalPtr right = std::make_shared<LogicalRange>(0, 1'000'000, 1, 2, output());
  const PhysicalPtr physical =
      planPhysical(std::make_shared<LogicalJoin>(JoinType::Cross, nullptr, left, right), BatchContext());
  Execution execution;
  execution.pool = &pool_;
  const auto running = physical->start(execution);
  const auto reader = running->open(0);
  ASSERT_TRUE(reader->next());
  execution.cancellation.cancel();
  EXPECT_THROW(reader->next(), Error);
}

TEST_F(JoinTest, TheSmallerSideIsHeldAndNeverTheStream) {
  const LogicalPtr small = table({{1, 1}});
  const LogicalPtr large = table({{1, 1}, {2, 2}});
  const auto described = [](JoinType type, const LogicalPtr& left, const LogicalPtr& right) {
    return planPhysical(std::make_shared<LogicalJoin>(type, sameKey(left, right), left, right),
                        BatchContext())
        ->describe();
  };
  EXPECT_EQ(described(JoinType::Inner, small, large), "HashJoin [k], [k], Inner, BuildLeft");
  EXPECT_EQ(described(JoinType::Inner, large, small), "HashJoin [k], [k], Inner, BuildRight");
  EXPECT_EQ(described(JoinType::LeftSemi, small, large), "HashJoin [k], [k], LeftSemi, BuildRight");
  const auto source = std::make_shared<StreamSourceDefinition>();
  const LogicalPtr stream = std::make_shared<LogicalStreamScan>(
      source, std::vector<int>{0, 1},
      attributesOf(*DataType::structOf({{"k", longType()}, {"v", longType()}})), 0);
  EXPECT_EQ(described(JoinType::Inner, small, stream), "HashJoin [k], [k], Inner, BuildLeft");
  EXPECT_EQ(described(JoinType::LeftOuter, stream, large), "HashJoin [k], [k], LeftOuter, BuildRight");
}

// What a join means, by its definition: every pair is asked.
std::vector<std::string> pairByPair(JoinType type, const std::function<bool(const Row&, const Row&)>& matches,
                                    const TableRows& left, const TableRows& right) {
  std::vector<std::string> rows;
  std::vector<bool> rightMatched(right.size(), false);
  for (const Row& l : left) {
    bool matched = false;
    for (size_t r = 0; r < right.size(); ++r) {
      if (!matches(l, right[r])) continue;
      matched = rightMatched[r] = true;
      if (!isExistence(type)) rows.push_back(textOf({l.first, l.second, right[r].first, right[r].second}));
    }
    if (isExistence(type) && matched == (type == JoinType::LeftSemi))
      rows.push_back(textOf({l.first, l.second}));
    if (!matched && keepsLeft(type)) rows.push_back(textOf({l.first, l.second, {}, {}}));
  }
  for (size_t r = 0; r < right.size(); ++r) {
    if (!rightMatched[r] && keepsRight(type))
      rows.push_back(textOf({{}, {}, right[r].first, right[r].second}));
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST_F(JoinTest, IsWhatTryingEveryPairGives) {
  std::mt19937 random(7);
  const auto randomRows = [&] {
    TableRows rows(random() % 12);
    for (Row& row : rows) {
      row = {static_cast<int64_t>(random() % 4), static_cast<int64_t>(random() % 5)};
      if (random() % 5 == 0) row.first.reset();
      if (random() % 5 == 0) row.second.reset();
    }
    return rows;
  };
  const auto equal = [](const Row& l, const Row& r) { return l.first && r.first && *l.first == *r.first; };
  const auto less = [](const Row& l, const Row& r) { return l.second && r.second && *l.second < *r.second; };
  for (int round = 0; round < 40; ++round) {
    const TableRows leftRows = randomRows(), rightRows = randomRows();
    const LogicalPtr left = table(leftRows, 1 + static_cast<int>(random() % 3));
    const LogicalPtr right = table(rightRows, 1 + static_cast<int>(random() % 3));
    const ExpressionPtr sameKeys = sameKey(left, right);
    const ExpressionPtr nullSafe = call("<=>", {column(left, 0), column(right, 0)});
    const ExpressionPtr lessValue = call("<", {column(left, 1), column(right, 1)});
    const ExpressionPtr leftAlone = call(">", {column(left, 1), Literal::of(int64_t{1})});
    struct Condition {
      ExpressionPtr expression;
      std::function<bool(const Row&, const Row&)> matches;
    };
    for (const Condition& condition : std::vector<Condition>{
             {nullptr, [](const Row&, const Row&) { return true; }},
             {sameKeys, equal},
             {nullSafe, [](const Row&l, const Row&r) { return l.first == r.first; }},
             {lessValue, less},
             {call("and", {sameKeys, lessValue}),
              [&](const Row&l, const Row&r) { return equal(l, r) && less(l, r); }},
             {call("and", {sameKeys, leftAlone}),
              [&](const Row&l, const Row&r) { return equal(l, r) && l.second && *l.second > 1; }},
             {call("or", {sameKeys, lessValue}),
              [&](const Row&l, const Row&r) { return equal(l, r) || less(l, r); }}}) {
      for (const JoinType type : kTypes) {
        SCOPED_TRACE(std::string(nameOf(type)) + " " +
                     (condition.expression ? condition.expression->toString() : "") + " round " +
                     std::to_string(round));
        const Rows expected = pairByPair(type, condition.matches, leftRows, rightRows);
        const auto join = std::make_shared<LogicalJoin>(type, condition.expression, left, right);
        ASSERT_EQ(run(LogicalPtr(join)), expected);
        ASSERT_EQ(run(*planPhysical(join, BatchContext())), expected) << "as it is written";
      }
    }
  }
}

}  // namespace
}  // namespace thalweg
