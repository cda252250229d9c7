#include "delta/scan/file_skipping.h"

#include <algorithm>
#include <optional>

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

bool isNullTest(ColumnPredicate::Op op) {
  return op == ColumnPredicate::Op::IsNull || op == ColumnPredicate::Op::IsNotNull;
}

}  // namespace

ValueBounds boundsOfOne(const arrow::Scalar& value) {
  const OrderedValue ordered = orderedValue(value);
  return {ordered, ordered, value.is_valid ? 0 : 1, 1};
}

struct FileFilter::Columns {
  const Schema& schema;
  const Schema& physical;
  const std::vector<std::string>& partitionedBy;
};

// Predicates that say nothing here are left out; a list of alternatives with one that says nothing is one.
std::vector<FileFilter::Bound> FileFilter::bindAll(std::vector<ColumnPredicate> predicates,
                                                   const Columns& columns) {
  std::vector<Bound> all;
  for (ColumnPredicate& predicate : predicates) {
    Bound bound;
    if (predicate.op == ColumnPredicate::Op::AnyOf) {
      for (auto& alternative : predicate.alternatives)
        bound.alternatives.push_back(bindAll(std::move(alternative), columns));
      const bool saysNothing = std::any_of(bound.alternatives.begin(), bound.alternatives.end(),
                                           [](const auto& alternative) { return alternative.empty(); });
      bound.predicate.op = ColumnPredicate::Op::AnyOf;
      if (!saysNothing) all.push_back(std::move(bound));
      continue;
    }
    const int index = columns.schema.fieldIndex(predicate.column, /*caseSensitive=*/false);
    if (index < 0) continue;
    const StructField& field = columns.schema.fields()[static_cast<size_t>(index)];
    bound.type = field.type;
    bound.physicalName = columns.physical.fields()[static_cast<size_t>(index)].name;
    bound.isPartition = std::any_of(columns.partitionedBy.begin(), columns.partitionedBy.end(),
                                    [&](const auto& name) { return equalsIgnoreCase(name, field.name); });
    const bool comparable =
        predicate.literal && predicate.literal->is_valid && sameKind(*predicate.literal->type, *field.type);
    if (!isNullTest(predicate.op) && !comparable) continue;
    bound.predicate = std::move(predicate);
    all.push_back(std::move(bound));
  }
  return all;
}

FileFilter::FileFilter(const Schema& schema, const Schema& physical,
                       const std::vector<std::string>& partitionColumns,
                       std::vector<ColumnPredicate> predicates, TimeZone zone)
    : predicates_(bindAll(std::move(predicates), {schema, physical, partitionColumns})),
      zone_(std::move(zone)) {}

FileFilter::FileFilter(const TableLayout& layout, std::vector<ColumnPredicate> predicates)
    : FileFilter(*layout.schema, *layout.physicalSchema, layout.partitionColumns, std::move(predicates),
                 layout.timeZone) {}

// Judges the rows of which it is told one column's bounds at a time.
class FileFilter::Judge {
 public:
  virtual ~Judge() = default;

  bool mayMatch(const std::vector<Bound>& all) {
    return std::all_of(all.begin(), all.end(), [&](const Bound& bound) {
      if (bound.predicate.op == ColumnPredicate::Op::AnyOf)
        return std::any_of(bound.alternatives.begin(), bound.alternatives.end(),
                           [&](const auto& alternative) { return mayMatch(alternative); });
      return boundsMayMatch(boundsOf(bound), bound.predicate);
    });
  }

 protected:
  virtual ValueBounds boundsOf(const Bound& bound) = 0;

 private:
  static bool boundsMayMatch(const ValueBounds& values, const ColumnPredicate& predicate) {
    if (predicate.op == ColumnPredicate::Op::IsNull) return values.mayHaveNulls();
    if (values.allNull()) return false;
    return predicate.op == ColumnPredicate::Op::IsNotNull ||
           rangeMayMatch(predicate.op, values.min, values.max, orderedValue(*predicate.literal));
  }
};

// Of a data file, by the log.
class FileFilter::FileJudge final : public Judge {
 public:
  FileJudge(const AddFile& file, const TimeZone& zone) : file_(file), zone_(zone) {}

 private:
  ValueBounds boundsOf(const Bound& bound) override {
    if (bound.isPartition) return partitionBounds(bound);
    if (!file_.stats) return {};
    if (!statistics_) statistics_.emplace(*file_.stats);
    return statistics_->boundsOf({bound.physicalName}, *bound.type);
  }

  ValueBounds partitionBounds(const Bound& bound) const {
    const auto it = file_.partitionValues.find(bound.physicalName);
    const auto text = it == file_.partitionValues.end() ? std::nullopt : it->second;
    return boundsOfOne(*parsePartitionValue(text, *bound.type, bound.predicate.column, zone_));
  }

  const AddFile& file_;
  const TimeZone& zone_;
  std::optional<StatisticsView> statistics_;
};

bool FileFilter::asksStatistics(const std::vector<Bound>& all) {
  return std::any_of(all.begin(), all.end(), [](const Bound& bound) {
    if (bound.predicate.op != ColumnPredicate::Op::AnyOf) return !bound.isPartition;
    return std::any_of(bound.alternatives.begin(), bound.alternatives.end(),
                       [](const auto& alternative) { return asksStatistics(alternative); });
  });
}

class FileFilter::LookupJudge final : public Judge {
 public:
  explicit LookupJudge(const BoundsLookup& lookup) : lookup_(lookup) {}

 private:
  ValueBounds boundsOf(const Bound& bound) override { return lookup_(bound.physicalName); }

  const BoundsLookup& lookup_;
};

bool FileFilter::mayMatch(const AddFile& file) const {
  return FileJudge(file, zone_).mayMatch(predicates_);
}

bool FileFilter::mayMatch(const BoundsLookup& boundsOf) const {
  return LookupJudge(boundsOf).mayMatch(predicates_);
}

}  // namespace thalweg::delta
