#include "delta/scan/value_bounds.h"

#include <gtest/gtest.h>

namespace thalweg::delta {
namespace {

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
