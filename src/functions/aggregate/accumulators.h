// The running values behind aggregate functions.
#pragma once

#include <memory>

#include "expr/aggregate.h"

namespace thalweg {

// Of rows none of whose arguments is null.
std::unique_ptr<Aggregator> makeCount();
// Of rows whose argument is true.
std::unique_ptr<Aggregator> makeCountIf();

// What a sum that does not fit its type becomes.
enum class Overflow {
  Error,
  Wrap,  // decimals: null
  Null,
};
[[noreturn]] void throwSumOverflow(const DataType& type);
// Sums: integers into bigint, fractions into double, decimals into their wider type.
std::unique_ptr<Aggregator> makeSum(const DataTypePtr& input, const DataTypePtr& result, Overflow overflow);
std::unique_ptr<Aggregator> makeAverage(const DataTypePtr& input, const DataTypePtr& result,
                                        Overflow overflow);
// The two of decimals; an overflow is an error under ANSI, else null.
std::unique_ptr<Aggregator> makeDecimalSum(const DataTypePtr& input, const DataTypePtr& result, bool ansi);
std::unique_ptr<Aggregator> makeDecimalAverage(const DataTypePtr& input, const DataTypePtr& result,
                                               bool ansi);

// The least (greatest) value by Spark's order; any type with one.
std::unique_ptr<Aggregator> makeExtreme(const DataTypePtr& type, bool least);
// The value beside the least (greatest) ordering.
std::unique_ptr<Aggregator> makeExtremeBy(const DataTypePtr& type, const DataTypePtr& ordering, bool least);
// The first (last) value that came, nulls among them unless ignored.
std::unique_ptr<Aggregator> makeFirst(const DataTypePtr& type, bool last, bool ignoreNulls);

// Of doubles; null where there are too few values.
enum class MomentResult {
  VarianceOfAll,
  VarianceOfSample,
  DeviationOfAll,
  DeviationOfSample,
  Squares,  // the sum of squares of distances from the average
  Skewness,
  Kurtosis,
};
std::unique_ptr<Aggregator> makeCentralMoments(MomentResult result);

// Of pairs (x, y) of doubles; null where there are too few.
enum class PairResult {
  CovarianceOfAll,
  CovarianceOfSample,
  Products,  // the sum of products of distances from the averages
  Correlation,
  Determination,  // regr_r2(x, y)
  Slope,          // of y over x
  Intercept,
};
// Under ANSI the correlation with a constant is the error DIVIDE_BY_ZERO, else null.
std::unique_ptr<Aggregator> makePairMoments(PairResult result, bool ansi);

// Of integers of any width, or the product of doubles; null without a value.
enum class FoldOperation { And, Or, Xor, Multiply };
std::unique_ptr<Aggregator> makeFold(const DataTypePtr& type, FoldOperation operation);

// An array of the values without nulls; `distinct`: each once.
std::unique_ptr<Aggregator> makeCollect(const DataTypePtr& type, bool distinct);
// The strings (or binaries) one after the other with `delimiter` between; null without any.
std::unique_ptr<Aggregator> makeJoinedText(const DataTypePtr& type, std::string delimiter);
// Collected in the order of the second argument: `ordering` descending or not, nulls first or last.
struct TextOrder {
  DataTypePtr type;
  bool ascending = true;
  bool nullsFirst = true;
};
std::unique_ptr<Aggregator> makeOrderedText(const DataTypePtr& type, std::string delimiter, TextOrder order);

// An estimate of how many values there are, with registers of HyperLogLog++; `precision` as
// distinctCountPrecision gives it for the wanted standard deviation, 4 at least.
int distinctCountPrecision(double relativeError);
std::unique_ptr<Aggregator> makeDistinctCount(const DataTypePtr& type, int precision);

// The most frequent value, and which one of several.
enum class ModeTie { First, Least, Greatest };
std::unique_ptr<Aggregator> makeMode(const DataTypePtr& type, ModeTie tie);

struct PercentileSpec {
  std::vector<double> percentages;  // of 0 to 1
  bool isArray = false;             // the result is an array with one value for each
  bool descending = false;
  bool discrete = false;  // a value that there is, else interpolated
};
// Of numbers, as doubles, or of intervals. A second argument, a bigint, says how often a value counts.
std::unique_ptr<Aggregator> makePercentile(const DataTypePtr& type, PercentileSpec spec);
// Values of the type at those ranks, at most count/accuracy ranks off.
std::unique_ptr<Aggregator> makeApproximatePercentile(const DataTypePtr& type, PercentileSpec spec,
                                                      double accuracy);

// Gives `function` each combination of the first `numDistinct` arguments, whose types come first in `types`,
// once a group.
std::unique_ptr<Aggregator> makeDistinct(std::unique_ptr<Aggregator> function,
                                         const std::vector<DataTypePtr>& types, size_t numDistinct);

}  // namespace thalweg
