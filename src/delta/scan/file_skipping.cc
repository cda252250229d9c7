#include "delta/scan/file_skipping.h"

#include <arrow/scalar.h>

#include "common/options.h"
#include "delta/files/partition_values.h"
#include "delta/scan/value_bounds.h"

namespace thalweg::delta {
namespace {

// Literals of another kind than the column's say nothing here: their comparison would need a cast.
bool sameKind(const arrow::DataType& literal, const DataType& column) {
  switch (column.id()) {
    case TypeId::Byte:
    case TypeId::Short:
    case TypeId::Int:
    case TypeId::Long:
      return arrow::is_signed_integer(literal.id());
    case TypeId::Float:
      return literal.id() == arrow::Type::FLOAT;
    case TypeId::Double:
      return literal.id() == arrow::Type::DOUBLE;
    case TypeId::Boolean:
      return literal.id() == arrow::Type::BOOL;
    case TypeId::String:
      return literal.id() == arrow::Type::STRING;
    case TypeId::Date:
      return literal.id() == arrow::Type::DATE32;
    case TypeId::Timestamp:
    case TypeId::TimestampNtz:
      return literal.id() == arrow::Type::TIMESTAMP &&
             static_cast<const arrow::TimestampType&>(literal).unit() == arrow::TimeUnit::MICRO;
    default:
      return false;
  }
}

// Whether rows between the bounds (missing: unbounded) can satisfy the comparison.
bool rangeMayMatch(ColumnPredicate::Op op, const OrderedValue& min, const OrderedValue& max,
                   const OrderedValue& literal) {
  if (!isSet(literal)) return true;
  const bool belowMin = isLess(literal, min);
  const bool aboveMax = isLess(max, literal);
  const bool atMin = isSet(min) && min == literal;
  const bool atMax = isSet(max) && max == literal;
  switch (op) {
    case ColumnPredicate::Op::Equal:
      return !belowMin && !aboveMax;
    case ColumnPredicate::Op::Less:
      return !belowMin && !atMin;
    case ColumnPredicate::Op::LessOrEqual:
      return !belowMin;
    case ColumnPredicate::Op::Greater:
      return !aboveMax && !atMax;
    case ColumnPredicate::Op::GreaterOrEqual:
      return !aboveMax;
    default:
      return true;
  }
}

}  // namespace

FileFilter::FileFilter(const Schema& schema, const Schema& physical,
                       const std::vector<std::string>& partitionColumns,
                       std::vector<ColumnPredicate> predicates) {
  for (ColumnPredicate& predicate : predicates) {
    const int index = schema.fieldIndex(predicate.column, /*caseSensitive=*/false);
    if (index < 0) continue;
    const StructField& field = schema.fields()[static_cast<size_t>(index)];
    Bound bound;
    bound.type = field.type;
    bound.physicalName = physical.fields()[static_cast<size_t>(index)].name;
    bound.isPartition = std::any_of(partitionColumns.begin(), partitionColumns.end(),
                                    [&](const auto& name) { return equalsIgnoreCase(name, field.name); });
    const bool isNullTest =
        predicate.op == ColumnPredicate::Op::IsNull || predicate.op == ColumnPredicate::Op::IsNotNull;
    if (!isNullTest && (!predicate.literal || !predicate.literal->is_valid ||
                        !sameKind(*predicate.literal->type, *field.type))) {
      continue;
    }
    bound.predicate = std::move(predicate);
    predicates_.push_back(std::move(bound));
  }
}

bool FileFilter::mayMatch(const AddFile& file) const {
  using Op = ColumnPredicate::Op;
  std::optional<StatisticsView> statistics;
  for (const Bound& bound : predicates_) {
    const Op op = bound.predicate.op;
    if (bound.isPartition) {
      const auto it = file.partitionValues.find(bound.physicalName);
      const auto text = it == file.partitionValues.end() ? std::nullopt : it->second;
      const auto value = parsePartitionValue(text, *bound.type, bound.predicate.column);
      if (op == Op::IsNull || op == Op::IsNotNull) {
        if (value->is_valid == (op == Op::IsNull)) return false;
        continue;
      }
      if (!value->is_valid) return false;
      const OrderedValue exact = orderedValue(*value);
      if (isSet(exact) && !rangeMayMatch(op, exact, exact, orderedValue(*bound.predicate.literal)))
        return false;
      continue;
    }
    if (!file.stats) continue;
    if (!statistics) statistics.emplace(*file.stats);
    const ValueBounds values = statistics->boundsOf({bound.physicalName}, *bound.type);
    if (op == Op::IsNull) {
      if (!values.mayHaveNulls()) return false;
      continue;
    }
    if (values.allNull()) return false;
    if (op == Op::IsNotNull) continue;
    if (!rangeMayMatch(op, values.min, values.max, orderedValue(*bound.predicate.literal))) return false;
  }
  return true;
}

}  // namespace thalweg::delta
