// Sessions of a table: rows of a key whose windows touch are one.
#include <algorithm>
#include <optional>
#include <random>

#include <arrow/api.h>
#include <arrow/compute/initialize.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "exec/planner/planner.h"
#include "expr/time_window.h"
#include "functions/registry.h"
#include "plan/analyze/relations.h"
#include "plan/optimize/optimizer.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

constexpr int64_t kSecond = 1'000'000;

struct Row {
  std::optional<int64_t> second;
  std::string key;
  int64_t value;
};
using Texts = std::vector<std::string>;

class SessionAggregateTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(arrow::compute::Initialize().ok()); }

  static std::shared_ptr<arrow::RecordBatch> batchOf(const Schema& schema, const std::vector<Row>& rows) {
    arrow::TimestampBuilder times(toArrowType(*timestampType()), arrow::default_memory_pool());
    arrow::StringBuilder keys;
    arrow::Int64Builder values;
    for (const Row& row : rows) {
      throwIfFailed(row.second ? times.Append(*row.second * kSecond) : times.AppendNull());
      throwIfFailed(keys.Append(row.key));
      throwIfFailed(values.Append(row.value));
    }
    arrow::ArrayVector columns = {valueOrThrow(times.Finish()), valueOrThrow(keys.Finish()),
                                  valueOrThrow(values.Finish())};
    return arrow::RecordBatch::Make(toArrowSchema(schema), static_cast<int64_t>(rows.size()),
                                    std::move(columns));
  }

  // "start|end|key|first|sum" of each session, by key unless without one; sorted.
  Texts sessions(const std::vector<std::vector<Row>>& batches, const std::string& gap, bool byKey = true) {
    const SchemaPtr schema =
        DataType::structOf({{"ts", timestampType()}, {"key", stringType()}, {"v", longType()}});
    std::vector<std::shared_ptr<arrow::RecordBatch>> tables;
    for (const auto& rows : batches) tables.push_back(batchOf(*schema, rows));
    LogicalPtr child = std::make_shared<LogicalLocalRelation>(attributesOf(*schema), std::move(tables));
    const AttributePtr time = child->output()[0], key = child->output()[1], value = child->output()[2];
    std::vector<ExpressionPtr> grouping = {std::make_shared<TimeWindow>(time, Literal::of(gap))};
    if (byKey) grouping.push_back(key);
    child = placeTimeWindows(&grouping, child);
    std::vector<ExpressionPtr> results = grouping;
    for (const char* function : {"first", "sum"}) {
      results.push_back(
          std::make_shared<Alias>(resolveFunction({function, {value}}, FunctionContext()), function));
    }
    return run(makeAggregate(grouping, std::move(results), child));
  }

  Texts run(const LogicalPtr& plan) {
    Execution execution;
    execution.pool = &pool_;
    const PhysicalPtr physical = planPhysical(optimize(plan), execution.batch);
    const auto running = physical->start(execution);
    Texts rows;
    for (const auto& batch : collectAll(*running, execution)) {
      for (int64_t row = 0; row < batch->num_rows(); ++row) {
        const auto& window = static_cast<const arrow::StructArray&>(*batch->column(0));
        std::string text;
        for (const int bound : {0, 1}) {
          const auto times = std::static_pointer_cast<arrow::TimestampArray>(window.field(bound));
          text += std::to_string(times->Value(row) / kSecond) + "|";
        }
        for (int column = 1; column < batch->num_columns(); ++column)
          text += valueOrThrow(batch->column(column)->GetScalar(row))->ToString() + "|";
        text.pop_back();
        rows.push_back(std::move(text));
      }
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  TaskPool pool_{2};
};

// Spark 4.2: a session ends a gap after its last row, one that begins where another ends is the same, and
// rows without a time are in none.
TEST_F(SessionAggregateTest, RowsThatTouchAreOneSession) {
  EXPECT_EQ(sessions({{{105, "a", 2}, {100, "a", 1}, {111, "a", 4}, {103, "b", 8}, {std::nullopt, "a", 16}}},
                     "5 seconds"),
            (Texts{"100|110|a|1|3", "103|108|b|8|8", "111|116|a|4|4"}));
}

TEST_F(SessionAggregateTest, WithoutAnotherKeyAllRowsMayTouch) {
  EXPECT_EQ(sessions({{{105, "a", 2}, {100, "b", 1}}, {{111, "c", 4}}}, "5 seconds", false),
            (Texts{"100|110|1|3", "111|116|4|4"}));
}

TEST_F(SessionAggregateTest, AGapThatIsNotPositiveLeavesNoRows) {
  EXPECT_EQ(sessions({{{100, "a", 1}}}, "0 seconds"), Texts{});
  EXPECT_EQ(sessions({{{100, "a", 1}}}, "-5 minutes"), Texts{});
  EXPECT_EQ(sessions({{{100, "a", 1}}}, "a while"), Texts{});
  EXPECT_EQ(sessions({}, "5 seconds"), Texts{});
}

TEST_F(SessionAggregateTest, MonthsAreRefused) {
  try {
    sessions({{{100, "a", 1}}}, "1 month");
    FAIL() << "a gap of a month was taken";
  } catch (const Error& error) {
    EXPECT_TRUE(error.condition().starts_with("UNSUPPORTED_FEATURE")) << error.condition();
  }
}

// However rows are spread over batches.
TEST_F(SessionAggregateTest, AreThoseOfAModel) {
  std::mt19937 random(11);
  std::vector<std::vector<Row>> batches(5);
  std::vector<Row> all;
  for (int i = 0; i < 400; ++i) {
    const Row row{100 + static_cast<int64_t>(random() % 3000), "k" + std::to_string(random() % 3), i};
    batches[random() % 5].push_back(row);
    all.push_back(row);
  }
  Texts expected;
  std::sort(all.begin(), all.end(), [](const Row& a, const Row& b) {
    return std::pair(a.key, *a.second) < std::pair(b.key, *b.second);
  });
  for (size_t i = 0; i < all.size();) {
    const Row& head = all[i];
    int64_t end = *head.second + 7, sum = 0;
    for (; i < all.size() && all[i].key == head.key && *all[i].second <= end; ++i) {
      end = *all[i].second + 7;
      sum += all[i].value;
    }
    expected.push_back(std::to_string(*head.second) + "|" + std::to_string(end) + "|" + head.key + "|" +
                       std::to_string(sum));
  }
  std::sort(expected.begin(), expected.end());
  Texts found = sessions(batches, "7 seconds");
  // Which of two rows of one time is first is not said.
  for (std::string& text : found) {
    const size_t last = text.rfind('|'), before = text.rfind('|', last - 1);
    text.erase(before, last - before);
  }
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace thalweg
