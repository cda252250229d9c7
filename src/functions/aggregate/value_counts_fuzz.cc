// Running values of aggregate functions as they lie in state, from any bytes: counts of values, summaries of
// values.
#include <arrow/api.h>

#include "common/error.h"
#include "functions/aggregate/quantile_summary.h"
#include "functions/aggregate/value_counts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace thalweg;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  arrow::BinaryBuilder builder;
  if (!builder.Append(bytes).ok()) return 0;
  const auto column = builder.Finish().ValueOrDie();
  for (const DataTypePtr& type : {intType(), stringType()}) {
    try {
      decodeCounts(type, *column);
    } catch (const Error&) {
    }
  }
  try {
    QuantileSummary summary = QuantileSummary::decode(bytes);
    summary.insert(1);
    summary.merge(QuantileSummary::decode(bytes));
    if (summary.count() > 0) summary.query({0, 0.5, 1});
  } catch (const Error&) {
  }
  return 0;
}
