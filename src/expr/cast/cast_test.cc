// Casts of constants under the three modes, as Spark answers them.
#include <arrow/scalar.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "expr/cast/cast.h"
#include "expr/nodes.h"

namespace thalweg {
namespace {

std::string castOf(const ExpressionPtr& value, const DataTypePtr& type, CastMode mode) {
  const BatchContext batch;
  try {
    const ExpressionPtr cast = castTo(castTo(value, type, mode), stringType(), CastMode::Ansi);
    const auto result = evaluateConstant(*cast, EvaluationContext{&batch});
    return result->is_valid ? static_cast<const arrow::StringScalar&>(*result).value->ToString() : "NULL";
  } catch (const Error& error) {
    return error.condition();
  }
}
std::string castOf(const char* text, const DataTypePtr& type, CastMode mode) { return castOf(Literal::of(std::string(text)), type, mode); }

TEST(CastOfText, readsNumbers) {
  EXPECT_EQ(castOf(" 45 ", intType(), CastMode::Ansi), "45");
  EXPECT_EQ(castOf("1.9", intType(), CastMode::Ansi), "CAST_INVALID_INPUT");
  EXPECT_EQ(castOf("1.9", intType(), CastMode::Legacy), "1");
  EXPECT_EQ(castOf("2147483648", intType(), CastMode::Try), "NULL");
  EXPECT_EQ(castOf("1e3", doubleType(), CastMode::Ansi), "1000.0");
  EXPECT_EQ(castOf("1.25", DataType::decimal(5, 1), CastMode::Ansi), "1.3");
  EXPECT_EQ(castOf("tru", booleanType(), CastMode::Ansi), "CAST_INVALID_INPUT");
  EXPECT_EQ(castOf("t", booleanType(), CastMode::Ansi), "true");
}

TEST(CastOfText, readsTimes) {
  EXPECT_EQ(castOf("2024-02-30", dateType(), CastMode::Try), "NULL");
  EXPECT_EQ(castOf("2024-05-06 7:08:09", timestampType(), CastMode::Ansi), "2024-05-06 07:08:09");
}

TEST(CastOfNumbers, overflowsOrWraps) {
  EXPECT_EQ(castOf(Literal::of(static_cast<int64_t>(3000000000)), intType(), CastMode::Ansi), "CAST_OVERFLOW");
  EXPECT_EQ(castOf(Literal::of(static_cast<int64_t>(3000000000)), intType(), CastMode::Legacy), "-1294967296");
  EXPECT_EQ(castOf(Literal::of(300), byteType(), CastMode::Legacy), "44");
  EXPECT_EQ(castOf(Literal::of(3.99), intType(), CastMode::Ansi), "3");
  EXPECT_EQ(castOf(Literal::of(1000), DataType::decimal(3, 0), CastMode::Ansi), "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION");
}

TEST(CastToText, printsAsSpark) {
  EXPECT_EQ(castOf(Literal::of(1.0e7), stringType(), CastMode::Ansi), "1.0E7");
  EXPECT_EQ(castOf(Literal::of(-0.0), stringType(), CastMode::Ansi), "-0.0");
}

}  // namespace
}  // namespace thalweg
