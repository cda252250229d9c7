// Where the parts of filters and join conditions end up.
#include <gtest/gtest.h>
#include <spark/connect/relations.pb.h>

#include "plan/analyze/analyzer.h"
#include "plan/logical/join.h"
#include "plan/optimize/optimizer.h"
#include "sql/parser.h"

namespace thalweg {
namespace {

LogicalPtr relationNamed(const std::vector<std::string>& name, const Options&, bool) {
  const auto schema = name[0] == "l" ? DataType::structOf({{"a", intType()}, {"b", intType()}})
                                     : DataType::structOf({{"c", intType()}, {"d", intType()}});
  return std::make_shared<LogicalLocalRelation>(attributesOf(*schema),
                                                std::vector<std::shared_ptr<arrow::RecordBatch>>{});
}

// The filters from the root down to the first join, "/", those of its left, its condition, those of its
// right.
std::string placed(const std::string& query) {
  AnalyzerContext context;
  context.findRelation = relationNamed;
  spark::connect::Relation relation;
  sql::parseQuery(query, &relation);
  const LogicalPtr plan = optimize(analyzeRelation(relation, context));
  const auto filtersDown = [](const LogicalNode* node, const LogicalNode** end) {
    std::string text;
    for (; !node->children().empty() && node->kind() != LogicalKind::Join; node = node->child().get()) {
      if (node->kind() == LogicalKind::Filter)
        text += static_cast<const LogicalFilter&>(*node).condition()->toString();
    }
    *end = node;
    return text;
  };
  const LogicalNode* end = nullptr;
  std::string text = filtersDown(plan.get(), &end);
  if (end->kind() != LogicalKind::Join) return text;
  const auto& join = static_cast<const LogicalJoin&>(*end);
  text += " / " + filtersDown(join.left().get(), &end) + " / " +
          (join.condition() ? join.condition()->toString() : "");
  return text + " / " + filtersDown(join.right().get(), &end);
}

TEST(PushDownFilters, AnInnerJoinTakesEverythingApart) {
  EXPECT_EQ(placed("SELECT * FROM l, r WHERE a = c AND b > 1 AND d < 2"), " / (b > 1) / (a = c) / (d < 2)");
  EXPECT_EQ(placed("SELECT * FROM l JOIN r ON a = c AND b > 1"), " / (b > 1) / (a = c) / ");
}

TEST(PushDownFilters, AnOuterJoinKeepsWhatDecidesOverRowsWithoutAPartner) {
  EXPECT_EQ(placed("SELECT * FROM l LEFT JOIN r ON a = c AND b > 1 AND d < 2 WHERE b = 3 AND d = 4"),
            "(d = 4) / (b = 3) / ((a = c) AND (b > 1)) / (d < 2)");
  EXPECT_EQ(placed("SELECT * FROM l RIGHT JOIN r ON a = c AND b > 1 AND d < 2 WHERE b = 3 AND d = 4"),
            "(b = 3) / (b > 1) / ((a = c) AND (d < 2)) / (d = 4)");
  EXPECT_EQ(placed("SELECT * FROM l FULL JOIN r ON a = c AND b > 1 WHERE b = 3"),
            "(b = 3) /  / ((a = c) AND (b > 1)) / ");
}

TEST(PushDownFilters, SemiAndAntiJoins) {
  EXPECT_EQ(placed("SELECT * FROM l LEFT SEMI JOIN r ON a = c AND b > 1 AND d < 2 WHERE b = 3"),
            " / ((b > 1) AND (b = 3)) / (a = c) / (d < 2)");
  EXPECT_EQ(placed("SELECT * FROM l LEFT ANTI JOIN r ON a = c AND b > 1 AND d < 2 WHERE b = 3"),
            " / (b = 3) / ((a = c) AND (b > 1)) / (d < 2)");
}

TEST(PushDownFilters, PassOverColumnsAndNotOverWhatIsComputed) {
  EXPECT_EQ(placed("SELECT * FROM (SELECT a AS k, b FROM l) JOIN r ON k = c WHERE k > 1"),
            " / (a > 1) / (k = c) / ");
  EXPECT_EQ(placed("SELECT * FROM (SELECT a, b + 1 AS s FROM l) WHERE s > 1 AND a > 2"), "(s > 1)(a > 2)");
  EXPECT_EQ(placed("SELECT * FROM (SELECT a, count(*) n FROM l GROUP BY a) WHERE a > 2"), "(a > 2)");
}

}  // namespace
}  // namespace thalweg
