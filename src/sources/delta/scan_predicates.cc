#include "sources/delta/scan_predicates.h"

#include "common/error.h"

namespace thalweg {
namespace {

delta::ColumnPredicate toDelta(const ScanPredicate& predicate) {
  const auto op = [&] {
    switch (predicate.op) {
      case ScanPredicate::Op::Equal:
        return delta::ColumnPredicate::Op::Equal;
      case ScanPredicate::Op::Less:
        return delta::ColumnPredicate::Op::Less;
      case ScanPredicate::Op::LessOrEqual:
        return delta::ColumnPredicate::Op::LessOrEqual;
      case ScanPredicate::Op::Greater:
        return delta::ColumnPredicate::Op::Greater;
      case ScanPredicate::Op::GreaterOrEqual:
        return delta::ColumnPredicate::Op::GreaterOrEqual;
      case ScanPredicate::Op::IsNull:
        return delta::ColumnPredicate::Op::IsNull;
      case ScanPredicate::Op::IsNotNull:
        return delta::ColumnPredicate::Op::IsNotNull;
    }
    throw internalError("unknown predicate");
  }();
  return {predicate.column, op, predicate.literal};
}

}  // namespace

delta::FileFilter fileFilter(const delta::TableLayout& layout, const std::vector<ScanPredicate>& predicates) {
  std::vector<delta::ColumnPredicate> converted;
  for (const ScanPredicate& predicate : predicates) converted.push_back(toDelta(predicate));
  return {*layout.schema, *layout.physicalSchema, layout.partitionColumns, std::move(converted)};
}

}  // namespace thalweg
