// Any text as a data file's statistics: bounds are bounds or unknown, prune nothing that they do not say, and
// outlive a deletion vector.
#include <arrow/scalar.h>

#include "common/error.h"
#include "delta/files/wide_bounds.h"
#include "delta/scan/file_skipping.h"
#include "delta/scan/value_bounds.h"

namespace {

using namespace thalweg;
using namespace thalweg::delta;

const DataTypePtr kTypes[] = {byteType(),
                              longType(),
                              floatType(),
                              doubleType(),
                              stringType(),
                              binaryType(),
                              booleanType(),
                              dateType(),
                              timestampType(),
                              timestampNtzType(),
                              DataType::decimal(20, 3)};
const std::vector<std::string> kPaths[] = {{"a"}, {"a", "b"}, {}};

// The same bounds, or none.
void checkKept(const OrderedValue& before, const OrderedValue& after) {
  THALWEG_ASSERT(!isSet(after) || before == after);
}

void checkBounds(const std::string& text) {
  constexpr int64_t kRows = 7;
  const std::string wide = withWideBounds(text, kRows);
  const StatisticsView before(text);
  const StatisticsView after(wide);
  THALWEG_ASSERT(after.numRecords() == kRows);
  for (const DataTypePtr& type : kTypes) {
    for (const auto& path : kPaths) {
      const ValueBounds bounds = before.boundsOf(path, *type);
      const ValueBounds kept = after.boundsOf(path, *type);
      checkKept(bounds.min, kept.min);
      checkKept(bounds.max, kept.max);
      THALWEG_ASSERT(!kept.nullCount || kept.nullCount == bounds.nullCount);
    }
  }
}

// What the bounds allow is never skipped.
void checkSkipping(const std::string& text) {
  const SchemaPtr schema = DataType::structOf({{"a", longType()}});
  const ValueBounds bounds = StatisticsView(text).boundsOf({"a"}, *longType());
  AddFile file;
  file.stats = text;
  for (const OrderedValue& bound : {bounds.min, bounds.max}) {
    if (!isSet(bound) || isLess(bounds.max, bounds.min) || bounds.allNull()) continue;
    const auto literal = std::make_shared<arrow::Int64Scalar>(std::get<int64_t>(bound));
    for (const auto op : {ColumnPredicate::Op::Equal, ColumnPredicate::Op::LessOrEqual,
                          ColumnPredicate::Op::GreaterOrEqual, ColumnPredicate::Op::IsNotNull})
      THALWEG_ASSERT(FileFilter(*schema, *schema, {}, {{"a", op, literal}}).mayMatch(file));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  checkBounds(text);
  checkSkipping(text);
  return 0;
}
