// Which files a predicate leaves out.
#include <arrow/scalar.h>
#include <gtest/gtest.h>

#include "delta/scan/file_skipping.h"

namespace thalweg::delta {
namespace {

using Op = ColumnPredicate::Op;

const SchemaPtr& schema() {
  static const SchemaPtr schema =
      DataType::structOf({{"p", stringType()}, {"a", longType()}, {"s", stringType()}});
  return schema;
}

// Of partition p = 'x': a from 10 to 20 without nulls, s from 'f' to 'h' with one null in four rows.
AddFile file() {
  AddFile add;
  add.path = "part-0.parquet";
  add.partitionValues = {{"p", "x"}};
  add.stats =
      R"({"numRecords":4,"minValues":{"a":10,"s":"f"},"maxValues":{"a":20,"s":"h"},"nullCount":{"a":0,"s":1}})";
  return add;
}

bool mayMatch(std::vector<ColumnPredicate> predicates, const AddFile& add = file()) {
  return FileFilter(*schema(), *schema(), {"p"}, std::move(predicates)).mayMatch(add);
}

ColumnPredicate isLong(Op op, int64_t value) {
  return {"a", op, std::make_shared<arrow::Int64Scalar>(value)};
}
ColumnPredicate isText(const std::string& column, Op op, const std::string& value) {
  return {column, op, std::make_shared<arrow::StringScalar>(value)};
}
ColumnPredicate anyOf(std::vector<std::vector<ColumnPredicate>> alternatives) {
  return {.op = Op::AnyOf, .alternatives = std::move(alternatives)};
}

TEST(FileFilterTest, BoundsDecide) {
  EXPECT_TRUE(mayMatch({isLong(Op::Equal, 10)}));
  EXPECT_FALSE(mayMatch({isLong(Op::Equal, 9)}));
  EXPECT_FALSE(mayMatch({isLong(Op::Less, 10)}));
  EXPECT_TRUE(mayMatch({isLong(Op::LessOrEqual, 10)}));
  EXPECT_FALSE(mayMatch({isLong(Op::Greater, 20)}));
  EXPECT_TRUE(mayMatch({isLong(Op::GreaterOrEqual, 20)}));
  EXPECT_FALSE(mayMatch({isLong(Op::Equal, 15), isText("s", Op::Greater, "h")})) << "both must hold";
}

TEST(FileFilterTest, PartitionValuesAndNullCountsDecide) {
  EXPECT_TRUE(mayMatch({isText("p", Op::Equal, "x")}));
  EXPECT_FALSE(mayMatch({isText("P", Op::Equal, "y")})) << "names in any case";
  EXPECT_FALSE(mayMatch({{"p", Op::IsNull}}));
  EXPECT_FALSE(mayMatch({{"a", Op::IsNull}}));
  EXPECT_TRUE(mayMatch({{"s", Op::IsNull}}));
}

TEST(FileFilterTest, OneOfSeveralAlternativesIsEnough) {
  EXPECT_FALSE(mayMatch({anyOf({{isLong(Op::Equal, 1)}, {isLong(Op::Equal, 2)}})}));
  EXPECT_TRUE(mayMatch({anyOf({{isLong(Op::Equal, 1)}, {isLong(Op::Equal, 12)}})}));
  EXPECT_FALSE(
      mayMatch({anyOf({{isLong(Op::Equal, 1)}, {isLong(Op::Equal, 12), isText("p", Op::Equal, "y")}})}));
  EXPECT_FALSE(mayMatch(
      {isLong(Op::Equal, 12), anyOf({{isText("p", Op::Equal, "y")}, {anyOf({{isLong(Op::Equal, 1)}})}})}));
}

TEST(FileFilterTest, TimestampsOfPartitionsWithoutAZoneAreOfTheSessions) {
  const SchemaPtr times = DataType::structOf({{"t", timestampType()}});
  const auto at = [](int64_t micros) {
    return std::make_shared<arrow::TimestampScalar>(micros, arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"));
  };
  const auto found = [&](const char* text, const char* zone) {
    AddFile add;
    add.partitionValues = {{"t", text}};
    const int64_t nineUtc = 1704099600000000;  // 2024-01-01, ten o'clock in Berlin
    return FileFilter(*times, *times, {"t"}, {{"t", Op::Equal, at(nineUtc)}}, TimeZone::parse(zone))
        .mayMatch(add);
  };
  EXPECT_TRUE(found("2024-01-01 10:00:00", "Europe/Berlin"));
  EXPECT_FALSE(found("2024-01-01 09:00:00", "Europe/Berlin"));
  EXPECT_TRUE(found("2024-01-01 09:00:00", "UTC"));
  EXPECT_TRUE(found("2024-01-01T09:00:00.000000Z", "Europe/Berlin"));
}

// The file says nothing of the column: it was added later, or lies beyond those that have statistics.
TEST(FileFilterTest, AColumnWithoutStatisticsMayHoldAnything) {
  for (const char* stats :
       {R"({"numRecords":4})", R"({"numRecords":4,"minValues":{},"maxValues":{},"nullCount":{}})",
        R"({"numRecords":4,"minValues":{"s":"f"},"maxValues":{"s":"h"},"nullCount":{"s":1}})"}) {
    AddFile add = file();
    add.stats = stats;
    EXPECT_TRUE(mayMatch({{"a", Op::IsNull}}, add)) << stats;
    EXPECT_TRUE(mayMatch({{"a", Op::IsNotNull}}, add)) << stats;
    EXPECT_TRUE(mayMatch({isLong(Op::Equal, 1)}, add)) << stats;
  }
  AddFile allNull = file();
  allNull.stats = R"({"numRecords":4,"nullCount":{"a":4}})";
  EXPECT_TRUE(mayMatch({{"a", Op::IsNull}}, allNull));
  EXPECT_FALSE(mayMatch({{"a", Op::IsNotNull}}, allNull));
  EXPECT_FALSE(mayMatch({isLong(Op::Equal, 1)}, allNull));
}

// Strings compare by their bytes, unsigned; a maximum that was cut ends in a character after all that it
// stands for: U+007F of plain texts, else U+10FFFF.
TEST(FileFilterTest, TextsCompareByTheirUnsignedBytes) {
  const auto of = [](const std::string& min, const std::string& max) {
    AddFile add = file();
    add.stats = R"({"numRecords":4,"minValues":{"s":")" + min + R"("},"maxValues":{"s":")" + max +
                R"("},"nullCount":{"s":0}})";
    return add;
  };
  EXPECT_FALSE(mayMatch({isText("s", Op::Equal, "z")}, of("ä", "ö"))) << "7A before C3";
  EXPECT_TRUE(mayMatch({isText("s", Op::Equal, "é")}, of("ä", "ö")));
  EXPECT_TRUE(mayMatch({isText("s", Op::Equal, "aa\xF0\x9F\x98\x80")}, of("aa", "aa\xF4\x8F\xBF\xBF")))
      << "U+1F600 below U+10FFFF";
  EXPECT_TRUE(mayMatch({isText("s", Op::Equal, "aa~")}, of("aa", "aa\x7F")));
  EXPECT_FALSE(mayMatch({isText("s", Op::Greater, "ab")}, of("aa", "aa\x7F")));
}

TEST(FileFilterTest, WhatCannotBeJudgedLeavesNothingOut) {
  const ColumnPredicate odd = {"a", Op::Equal, std::make_shared<arrow::DoubleScalar>(1.5)};
  EXPECT_TRUE(mayMatch({odd}));
  EXPECT_TRUE(mayMatch({isText("missing", Op::Equal, "x")}));
  EXPECT_TRUE(mayMatch({anyOf({{isLong(Op::Equal, 1)}, {odd}})}));
  AddFile without = file();
  without.stats.reset();
  EXPECT_TRUE(mayMatch({isLong(Op::Equal, 9)}, without));
  EXPECT_FALSE(mayMatch({isText("p", Op::Equal, "y")}, without));
}

}  // namespace
}  // namespace thalweg::delta
