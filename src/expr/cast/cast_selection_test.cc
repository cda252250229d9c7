// Which rows of a batch an ANSI cast may fail on.
#include <arrow/api.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "common/testing/condition_of.h"
#include "expr/cast/kernels.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

class CastSelectionTest : public testing::Test {
 protected:
  ArrayPtr cast(const ArrayPtr& input, const DataType& from, const DataType& to, Selection selection,
                CastMode mode = CastMode::Ansi) const {
    return castKernel(input, from, to, {mode, std::move(selection), EvaluationContext{&batch_}});
  }
  static ArrayPtr decimals(const std::vector<std::string>& texts, const DataType& type) {
    arrow::Decimal128Builder builder(toArrowType(type));
    for (const std::string& text : texts) throwIfFailed(builder.Append(valueOrThrow(arrow::Decimal128::FromString(text))));
    return valueOrThrow(builder.Finish());
  }
  BatchContext batch_;
};

TEST_F(CastSelectionTest, ADecimalThatDoesNotFitFailsOnlyWhereItsRowIsSelected) {
  const DataTypePtr from = DataType::decimal(20, 0);
  const ArrayPtr input = decimals({"1", "99999999999999999999", "300"}, *from);
  EXPECT_EQ(cast(input, *from, *longType(), Selection::of(3, {0, 2}))->ToString(), "[\n  1,\n  null,\n  300\n]");
  EXPECT_EQ(conditionOf([&] { cast(input, *from, *longType(), Selection::all(3)); }), "CAST_OVERFLOW");
  EXPECT_EQ(cast(input, *from, *byteType(), Selection::of(3, {0}))->ToString(), "[\n  1,\n  null,\n  null\n]");
  EXPECT_EQ(conditionOf([&] { cast(input, *from, *byteType(), Selection::of(3, {0, 2})); }), "CAST_OVERFLOW");
}

ArrayPtr textLists() {
  arrow::ListBuilder lists(arrow::default_memory_pool(), std::make_shared<arrow::StringBuilder>());
  auto& texts = static_cast<arrow::StringBuilder&>(*lists.value_builder());
  for (const char* text : {"x", "1", "2", "y"}) {
    throwIfFailed(lists.Append());
    throwIfFailed(texts.Append(text));
  }
  return valueOrThrow(lists.Finish());
}

TEST_F(CastSelectionTest, ElementsOutsideASliceOrOfRowsNotSelectedDoNotFail) {
  const DataTypePtr from = DataType::array(stringType(), true), to = DataType::array(intType(), true);
  const ArrayPtr slice = textLists()->Slice(1, 2);
  const ArrayPtr result = cast(slice, *from, *to, Selection::all(2));
  EXPECT_TRUE(result->ValidateFull().ok());
  EXPECT_EQ(static_cast<const arrow::ListArray&>(*result).values()->ToString(), "[\n  1,\n  2\n]");
  EXPECT_EQ(cast(textLists(), *from, *to, Selection::of(4, {1, 2}))->length(), 4);
  EXPECT_EQ(conditionOf([&] { cast(textLists(), *from, *to, Selection::of(4, {2, 3})); }), "CAST_INVALID_INPUT");
}

// Java's TimeUnit.SECONDS.toMicros and its cast of a double to long stop at the ends of the range.
TEST_F(CastSelectionTest, SecondsBeyondTheRangeOfTimestampsStopAtItsEnds) {
  arrow::Int64Builder longs;
  throwIfFailed(longs.AppendValues({INT64_MAX, INT64_MIN, 2}));
  arrow::DoubleBuilder doubles;
  throwIfFailed(doubles.AppendValues({1e300, -1e300, 2}));
  for (const auto& [input, from] : {std::pair(valueOrThrow(longs.Finish()), longType()), std::pair(valueOrThrow(doubles.Finish()), doubleType())}) {
    const ArrayPtr result = cast(input, *from, *timestampType(), Selection::all(3));
    const auto& micros = static_cast<const arrow::TimestampArray&>(*result);
    EXPECT_EQ(micros.Value(0), INT64_MAX);
    EXPECT_EQ(micros.Value(1), INT64_MIN);
    EXPECT_EQ(micros.Value(2), 2'000'000);
  }
}

TEST_F(CastSelectionTest, WhatANullStructHidesDoesNotFail) {
  const DataTypePtr from = DataType::structOf({{"a", stringType()}}), to = DataType::structOf({{"a", intType()}});
  arrow::StringBuilder texts;
  throwIfFailed(texts.AppendValues({"x", "1"}));
  const ArrayPtr child = valueOrThrow(texts.Finish());
  arrow::TypedBufferBuilder<bool> validity;
  throwIfFailed(validity.Append(false));
  throwIfFailed(validity.Append(true));
  const ArrayPtr structs =
      std::make_shared<arrow::StructArray>(toArrowType(*from), 2, arrow::ArrayVector{child}, valueOrThrow(validity.Finish()));
  EXPECT_EQ(cast(structs, *from, *to, Selection::all(2))->null_count(), 1);
}

}  // namespace
}  // namespace thalweg
