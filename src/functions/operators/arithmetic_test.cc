// Types of mixed operands, and which of several bad rows an operator fails on.
#include <arrow/api.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "expr/nodes.h"
#include "functions/coercion.h"
#include "functions/registry.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

// Conformance: 16777217 = cast(16777217 as float) is false under ANSI, so both are compared as doubles.
TEST(CommonType, OfAWholeNumberAndAFloatIsDoubleUnderAnsiAndFloatByLegacyRules) {
  FunctionContext ansi, legacy;
  legacy.ansi = false;
  for (const DataTypePtr& type : {byteType(), shortType(), intType(), longType()}) {
    EXPECT_EQ(commonType(type, floatType(), ansi)->id(), TypeId::Double);
    EXPECT_EQ(commonType(floatType(), type, ansi)->id(), TypeId::Double);
    EXPECT_EQ(commonType(type, floatType(), legacy)->id(), TypeId::Float);
    EXPECT_EQ(commonType(floatType(), type, legacy)->id(), TypeId::Float);
  }
  EXPECT_EQ(commonType(floatType(), floatType(), ansi)->id(), TypeId::Float);
  EXPECT_EQ(commonType(DataType::decimal(5, 2), floatType(), legacy)->id(), TypeId::Double);
}

std::shared_ptr<arrow::Array> decimals(const DataType& type, const std::vector<std::string>& texts) {
  arrow::Decimal128Builder builder(toArrowType(type));
  for (const std::string& text : texts) throwIfFailed(builder.Append(valueOrThrow(arrow::Decimal128::FromString(text))));
  return valueOrThrow(builder.Finish());
}

std::string conditionOfQuotients(const std::vector<std::string>& dividends, const std::vector<std::string>& divisors) {
  const DataTypePtr wide = DataType::decimal(38, 0), fine = DataType::decimal(38, 37);
  const SchemaPtr schema = DataType::structOf({{"a", wide}, {"b", fine}});
  const auto batch = arrow::RecordBatch::Make(toArrowSchema(*schema), static_cast<int64_t>(dividends.size()),
                                              {decimals(*wide, dividends), decimals(*fine, divisors)});
  const ExpressionPtr quotient = resolveFunction(
      {"/", {std::make_shared<BoundReference>(0, wide, true, "a"), std::make_shared<BoundReference>(1, fine, true, "b")}}, FunctionContext());
  const BatchContext context;
  try {
    quotient->evaluate(*batch, Selection::all(batch->num_rows()), EvaluationContext{&context});
  } catch (const Error& error) {
    return error.condition();
  }
  return "none";
}

TEST(DecimalArithmetic, TheFirstBadRowIsTheOneThatFails) {
  const std::string large(38, '9'), tiny = "0." + std::string(36, '0') + "1", zero = "0." + std::string(37, '0');
  EXPECT_EQ(conditionOfQuotients({large, "1"}, {tiny, zero}), "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION");
  EXPECT_EQ(conditionOfQuotients({"1", large}, {zero, tiny}), "DIVIDE_BY_ZERO");
}

}  // namespace
}  // namespace thalweg
