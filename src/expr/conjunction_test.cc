// AND and OR over columns: SQL's three values, and which rows of the right side are asked.
#include <string>
#include <vector>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "expr/nodes.h"
#include "types/arrow_result.h"

namespace thalweg {
namespace {

// A column of 't', 'f' and 'n' (NULL).
std::shared_ptr<arrow::Array> column(const std::string& values) {
  arrow::BooleanBuilder builder;
  for (const char value : values)
    throwIfFailed(value == 'n' ? builder.AppendNull() : builder.Append(value == 't'));
  return valueOrThrow(builder.Finish());
}

std::string resultOf(ExpressionKind andOr, const std::shared_ptr<arrow::Array>& left,
                     const std::shared_ptr<arrow::Array>& right) {
  const auto batch = arrow::RecordBatch::Make(
      arrow::schema({arrow::field("l", arrow::boolean()), arrow::field("r", arrow::boolean())}), left->length(), {left, right});
  const Conjunction both(andOr, std::make_shared<BoundReference>(0, booleanType(), true, "l"),
                         std::make_shared<BoundReference>(1, booleanType(), true, "r"));
  const BatchContext context;
  const auto result =
      std::static_pointer_cast<arrow::BooleanArray>(evaluateToArray(both, *batch, Selection::all(left->length()), {&context}));
  std::string text;
  for (int64_t row = 0; row < result->length(); ++row)
    text += result->IsNull(row) ? 'n' : result->Value(row) ? 't' : 'f';
  return text;
}

TEST(Conjunction, HasTheThreeValuesOfSql) {
  EXPECT_EQ(resultOf(ExpressionKind::And, column("tttfffnnn"), column("tfntfntfn")), "tfnfffnfn");
  EXPECT_EQ(resultOf(ExpressionKind::Or, column("tttfffnnn"), column("tfntfntfn")), "ttttfntnn");
}

// Also from columns that begin within a byte.
TEST(Conjunction, OfSidesWithoutNullsIsTheSame) {
  EXPECT_EQ(resultOf(ExpressionKind::And, column("ttff"), column("tftf")), "tfff");
  EXPECT_EQ(resultOf(ExpressionKind::Or, column("ttff"), column("tftf")), "tttf");
  EXPECT_EQ(resultOf(ExpressionKind::And, column("tttt"), column("tftf")), "tftf");
  EXPECT_EQ(resultOf(ExpressionKind::Or, column("ffff"), column("tftf")), "tftf");
  EXPECT_EQ(resultOf(ExpressionKind::And, column("fffttff")->Slice(3), column("tftf")), "tfff");
  EXPECT_EQ(resultOf(ExpressionKind::Or, column("ttff"), column("nfffftftf")->Slice(5)), "tttf");
}

}  // namespace
}  // namespace thalweg
