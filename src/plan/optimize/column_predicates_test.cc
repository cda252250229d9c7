// What of a condition leaves files out.
#include <arrow/scalar.h>
#include <gtest/gtest.h>
#include <spark/connect/relations.pb.h>

#include "expr/constant_folding.h"
#include "plan/analyze/analyzer.h"
#include "plan/optimize/optimizer.h"
#include "sql/parser.h"

namespace thalweg {
namespace {

LogicalPtr tableOf(const std::vector<std::string>&, const Options&, bool) {
  const auto schema = DataType::structOf({{"i", intType()},
                                          {"l", longType()},
                                          {"s", stringType()},
                                          {"d", DataType::primitive(TypeId::Date)},
                                          {"t", timestampType()}});
  return std::make_shared<LogicalLocalRelation>(attributesOf(*schema), std::vector<std::shared_ptr<arrow::RecordBatch>>{});
}

std::string shown(const std::vector<ColumnPredicate>& predicates) {
  static constexpr const char* kNames[] = {"=", "<", "<=", ">", ">=", "null", "not null"};
  std::string text;
  for (const ColumnPredicate& one : predicates) {
    if (!text.empty()) text += ", ";
    if (one.op == ColumnPredicate::Op::AnyOf) {
      text += "any(";
      for (size_t i = 0; i < one.alternatives.size(); ++i) text += (i > 0 ? " | " : "") + shown(one.alternatives[i]);
      text += ")";
      continue;
    }
    text += one.column + " " + kNames[static_cast<int>(one.op)];
    if (one.literal) text += " " + one.literal->ToString();
  }
  return text;
}

// The clock says 2026-01-15T12:00Z.
std::string predicatesOf(const std::string& condition) {
  AnalyzerContext context;
  context.findRelation = tableOf;
  spark::connect::Relation relation;
  sql::parseQuery("SELECT * FROM t WHERE " + condition, &relation);
  const LogicalPtr plan = analyzeRelation(relation, context);
  BatchContext batch;
  batch.timestampMicros = 1'768'478'400'000'000;
  LogicalPtr node = plan;
  while (node->kind() != LogicalKind::Filter) node = node->child();
  const ExpressionPtr& filter = static_cast<const LogicalFilter&>(*node).condition();
  return shown(columnPredicates(foldConstants(filter, EvaluationContext{&batch}, Foldability::OncePerBatch)));
}

TEST(ColumnPredicates, AColumnAndALiteralOnEitherSide) {
  EXPECT_EQ(predicatesOf("i = 5"), "i = 5");
  EXPECT_EQ(predicatesOf("5 > i AND i >= 2"), "i < 5, i >= 2");
  EXPECT_EQ(predicatesOf("s IS NULL AND i IS NOT NULL"), "s null, i not null");
  EXPECT_EQ(predicatesOf("i <=> 5 AND s <=> NULL"), "i = 5, s null");
  EXPECT_EQ(predicatesOf("i BETWEEN 1 AND 3"), "i >= 1, i <= 3");
}

TEST(ColumnPredicates, LiteralsOfAnotherTypeAreCastAndConstantsComputed) {
  EXPECT_EQ(predicatesOf("l = 5"), "l = 5");
  EXPECT_EQ(predicatesOf("i = 5L"), "i = 5");
  EXPECT_EQ(predicatesOf("l = 2 + 3"), "l = 5");
  EXPECT_EQ(predicatesOf("d = '2026-01-15'"), "d = 2026-01-15");
  EXPECT_EQ(predicatesOf("d >= current_date() - 7"), "d >= 2026-01-08");
  EXPECT_EQ(predicatesOf("t < current_timestamp() - INTERVAL 1 DAY"), "t < 2026-01-14 12:00:00.000000Z");
}

TEST(ColumnPredicates, AlternativesCountWhereEachSaysSomething) {
  EXPECT_EQ(predicatesOf("i IN (1, 2, 3)"), "any(i = 3 | i = 2 | i = 1)");
  EXPECT_EQ(predicatesOf("i = 1 OR (s = 'a' AND l > 7)"), "any(s = a, l > 7 | i = 1)");
  EXPECT_EQ(predicatesOf("i = 1 OR (length(s) = 3 AND l > 7)"), "any(l > 7 | i = 1)");
  EXPECT_EQ(predicatesOf("i = 1 OR length(s) = 3"), "");
}

TEST(ColumnPredicates, TextsThatBeginAlikeAreARange) {
  EXPECT_EQ(predicatesOf("startswith(s, 'ab')"), "s >= ab, s < ac");
  EXPECT_EQ(predicatesOf("s LIKE 'ab%c'"), "s >= ab, s < ac");
  EXPECT_EQ(predicatesOf("s LIKE 'a\\\\%b'"), "s >= a, s < b");
  EXPECT_EQ(predicatesOf("startswith('ab', s)"), "");
}

TEST(ColumnPredicates, WhatBoundsCannotJudge) {
  EXPECT_EQ(predicatesOf("i <> 5 AND NOT (i = 6) AND i + 1 = 5 AND s = concat(s, 'x')"), "");
  EXPECT_EQ(predicatesOf("i = CAST(NULL AS INT)"), "");
  EXPECT_EQ(predicatesOf("i > 1.5"), "");
}

}  // namespace
}  // namespace thalweg
