#include "columnar/normalized_floats.h"

#include <bit>
#include <limits>

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <gtest/gtest.h>

#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

std::shared_ptr<arrow::Array> arrayOf(const DataTypePtr& type, const char* json) {
  return valueOrThrow(arrow::json::ArrayFromJSONString(toArrowType(*type), json));
}

// Equality of Arrow arrays takes the zeros apart only when told to.
void expectSame(const arrow::Array& array, const arrow::Array& expected) {
  EXPECT_TRUE(array.Equals(expected, arrow::EqualOptions().signed_zeros_equal(false).nans_equal(true))) << array.ToString();
}

TEST(NormalizedFloats, HaveOneZeroAndOneNaN) {
  const auto array = arrayOf(doubleType(), "[1.5, -0.0, null, 0.0]");
  expectSame(*normalizeFloats(*doubleType(), array, arrow::default_memory_pool()), *arrayOf(doubleType(), "[1.5, 0.0, null, 0.0]"));

  arrow::DoubleBuilder builder;
  throwIfFailed(builder.Append(std::bit_cast<double>(0xFFF8000000000001ULL)));
  const auto nan = normalizeFloats(*doubleType(), valueOrThrow(builder.Finish()), arrow::default_memory_pool());
  EXPECT_EQ(std::bit_cast<uint64_t>(static_cast<const arrow::DoubleArray&>(*nan).Value(0)), 0x7FF8000000000000ULL);
}

TEST(NormalizedFloats, InsideOtherValuesAndPartsOfArraysToo) {
  const DataTypePtr type = DataType::structOf({{"x", floatType(), true}, {"a", DataType::array(doubleType(), true), true}});
  const auto array = arrayOf(type, R"([[-0.0, [1.0]], [2.0, [-0.0, 3.0]], [-0.0, null]])")->Slice(1);
  expectSame(*normalizeFloats(*type, array, arrow::default_memory_pool()), *arrayOf(type, R"([[2.0, [0.0, 3.0]], [0.0, null]])"));
}

TEST(NormalizedFloats, AreTheArrayItselfWhereNothingChanges) {
  const auto array = arrayOf(doubleType(), "[0.0, 1.0]");
  EXPECT_EQ(normalizeFloats(*doubleType(), array, arrow::default_memory_pool()), array);
}

}  // namespace
}  // namespace thalweg
