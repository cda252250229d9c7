// Keys order as SQL orders values; equal values have equal keys.
#include "columnar/key_encoder.h"

#include <cmath>
#include <limits>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "columnar/group_table.h"
#include "common/error.h"

namespace thalweg {
namespace {

template <typename Builder, typename Value>
std::vector<std::string> keysOf(const DataTypePtr& type, const std::vector<std::optional<Value>>& values, bool ascending = true,
                                bool nullsFirst = true) {
  Builder builder;
  for (const auto& value : values) EXPECT_TRUE((value ? builder.Append(*value) : builder.AppendNull()).ok());
  const std::vector<std::shared_ptr<arrow::Array>> arrays = {builder.Finish().ValueOrDie()};
  const KeyEncoder encoder({{type, ascending, nullsFirst}});
  std::vector<std::string> keys(values.size());
  for (size_t i = 0; i < values.size(); ++i) encoder.append(arrays, static_cast<int64_t>(i), &keys[i]);
  return keys;
}

void expectRising(const std::vector<std::string>& keys) {
  for (size_t i = 1; i < keys.size(); ++i) EXPECT_LT(keys[i - 1], keys[i]) << i;
}

TEST(KeyEncoder, OrdersNumbers) {
  expectRising(keysOf<arrow::Int64Builder, int64_t>(longType(), {std::nullopt, INT64_MIN, -1, 0, 1, INT64_MAX}));
  const double infinity = std::numeric_limits<double>::infinity();
  expectRising(keysOf<arrow::DoubleBuilder, double>(doubleType(), {std::nullopt, -infinity, -1.5, 0.0, 1e-300, 2.0, infinity, std::nan("")}));
}

TEST(KeyEncoder, ZerosAreEqualAndSoAreNans) {
  const auto keys = keysOf<arrow::DoubleBuilder, double>(doubleType(), {0.0, -0.0, std::nan("1"), -std::nan("2")});
  EXPECT_EQ(keys[0], keys[1]);
  EXPECT_EQ(keys[2], keys[3]);
}

TEST(KeyEncoder, OrdersTextByBytesPrefixesFirst) {
  using std::string_literals::operator""s;
  expectRising(keysOf<arrow::StringBuilder, std::string>(stringType(), {std::nullopt, ""s, "\0"s, "\0a"s, "a"s, "a\0"s, "ab"s, "b"s, "\xc3\xa9"s, "\xff"s}));
}

TEST(KeyEncoder, DescendingTurnsValuesAndNotNulls) {
  expectRising(keysOf<arrow::Int64Builder, int64_t>(longType(), {std::nullopt, 5, 1}, false, true));
  expectRising(keysOf<arrow::Int64Builder, int64_t>(longType(), {5, 1, std::nullopt}, false, false));
}

TEST(KeyEncoder, RefusesMaps) {
  EXPECT_THROW(KeyEncoder({{DataType::map(stringType(), longType())}}), Error);
}

TEST(GroupTable, NumbersKeysInOrderOfAppearance) {
  arrow::Int64Builder builder;
  for (int64_t i = 0; i < 5000; ++i) EXPECT_TRUE(builder.Append(i % 2500).ok());
  const std::vector<std::shared_ptr<arrow::Array>> keys = {builder.Finish().ValueOrDie()};
  std::vector<int32_t> rows(5000);
  for (int32_t i = 0; i < 5000; ++i) rows[static_cast<size_t>(i)] = i;
  GroupTable table({longType()}, arrow::default_memory_pool());
  std::vector<uint32_t> groups;
  table.assign(keys, rows, &groups);
  for (size_t i = 0; i < groups.size(); ++i) EXPECT_EQ(groups[i], i % 2500);
  EXPECT_EQ(table.numGroups(), 2500);
  const auto distinct = std::static_pointer_cast<arrow::Int64Array>(table.finishKeys()[0]);
  EXPECT_EQ(distinct->length(), 2500);
  EXPECT_EQ(distinct->Value(2499), 2499);
}

}  // namespace
}  // namespace thalweg
