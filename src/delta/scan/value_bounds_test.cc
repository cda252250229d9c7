#include "delta/scan/value_bounds.h"

#include <gtest/gtest.h>

namespace thalweg::delta {
namespace {

double maxOf(const char* stats, const DataTypePtr& type) {
  return std::get<double>(StatisticsView(stats).boundsOf({"f"}, *type).max);
}
double minOf(const char* stats, const DataTypePtr& type) {
  return std::get<double>(StatisticsView(stats).boundsOf({"f"}, *type).min);
}

// 0.1 stands for the float 0.100000001490116…, 0.3 for 0.300000011920929…, 0.7 for 0.699999988079071….
TEST(ValueBounds, BoundsOfDoublesHoldWhatTheTextsOfFloatsStandFor) {
  const char* stats = R"({"numRecords":2,"minValues":{"f":0.7},"maxValues":{"f":0.1}})";
  EXPECT_EQ(maxOf(stats, floatType()), double{0.1F});
  EXPECT_EQ(maxOf(stats, doubleType()), double{0.1F});
  EXPECT_EQ(minOf(stats, doubleType()), double{0.7F});
  const char* exact = R"({"numRecords":2,"minValues":{"f":0.3},"maxValues":{"f":0.7}})";
  EXPECT_EQ(minOf(exact, doubleType()), 0.3);
  EXPECT_EQ(maxOf(exact, doubleType()), 0.7);
}

TEST(ValueBounds, NumbersBeyondFloatsAreTheirOwnBounds) {
  const char* stats = R"({"numRecords":2,"minValues":{"f":-1.0E300},"maxValues":{"f":1.0E300}})";
  EXPECT_EQ(minOf(stats, doubleType()), -1.0e300);
  EXPECT_EQ(maxOf(stats, doubleType()), 1.0e300);
}

// Statistics that were written before a column's type was widened.
TEST(ValueBounds, TextsOfNarrowerTypesAreRead) {
  const char* stats =
      R"({"numRecords":1,"minValues":{"f":3,"d":"2020-01-02"},"maxValues":{"f":3,"d":"2020-01-02"}})";
  EXPECT_EQ(minOf(stats, doubleType()), 3.0);
  const ValueBounds date = StatisticsView(stats).boundsOf({"d"}, *DataType::primitive(TypeId::TimestampNtz));
  EXPECT_EQ(std::get<int64_t>(date.min), int64_t{18263} * 86'400'000'000);
  EXPECT_GE(std::get<int64_t>(date.max), int64_t{18263} * 86'400'000'000);
}

// Writers cut both bounds down to milliseconds: the greatest value may be 999 µs later than its text.
TEST(ValueBounds, TimestampsHoldWhatWasCutOff) {
  const char* stats =
      R"({"numRecords":1,"minValues":{"t":"1970-01-01T00:00:00.001Z"},"maxValues":{"t":"1970-01-01T00:00:00.001Z"}})";
  for (const DataTypePtr& type : {timestampType(), timestampNtzType()}) {
    const ValueBounds bounds = StatisticsView(stats).boundsOf({"t"}, *type);
    EXPECT_EQ(bounds.min, OrderedValue(int64_t{1000}));
    EXPECT_EQ(bounds.max, OrderedValue(int64_t{1999}));
  }
}

TEST(StatisticsView, NumbersThatNoLongCanBeSayNothing) {
  const StatisticsView view(
      R"({"numRecords":9223372036854775808,"minValues":{"a":9223372036854775808},)"
      R"("maxValues":{"a":18446744073709551615},"nullCount":{"a":9223372036854775808}})");
  EXPECT_FALSE(view.numRecords());
  const ValueBounds bounds = view.boundsOf({"a"}, *longType());
  EXPECT_FALSE(isSet(bounds.min)) << "read as a negative number, it would hide the file's rows";
  EXPECT_FALSE(isSet(bounds.max));
  EXPECT_FALSE(bounds.nullCount);
  const ValueBounds most =
      StatisticsView(R"({"maxValues":{"a":9223372036854775807}})").boundsOf({"a"}, *longType());
  EXPECT_EQ(most.max, OrderedValue(int64_t{INT64_MAX}));
}

}  // namespace
}  // namespace thalweg::delta
