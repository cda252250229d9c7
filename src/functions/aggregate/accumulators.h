// The running values behind aggregate functions.
#pragma once

#include <memory>

#include "expr/aggregate.h"

namespace thalweg {

std::unique_ptr<Aggregator> makeCount();
// Sums: integers into bigint (overflow is an error under ANSI), fractions into double, decimals into their
// wider type.
std::unique_ptr<Aggregator> makeSum(const DataTypePtr& input, const DataTypePtr& result, bool ansi);
std::unique_ptr<Aggregator> makeAverage(const DataTypePtr& input, const DataTypePtr& result, bool ansi);
// The least (greatest) value by Spark's order; any type with one.
std::unique_ptr<Aggregator> makeExtreme(const DataTypePtr& type, bool least);
// The value beside the least (greatest) ordering.
std::unique_ptr<Aggregator> makeExtremeBy(const DataTypePtr& type, const DataTypePtr& ordering, bool least);
// Variances of doubles, or their square roots; null where there are too few values.
struct MomentResult {
  bool ofSample = true;  // divides by one less than the number of values
  bool squareRoot = false;
};
std::unique_ptr<Aggregator> makeCentralMoments(MomentResult result);
// The first (last) value that came, nulls among them unless ignored.
std::unique_ptr<Aggregator> makeFirst(const DataTypePtr& type, bool last, bool ignoreNulls);

}  // namespace thalweg
