#include "delta/scan/file_skipping.h"

#include <cmath>

#include <arrow/scalar.h>
#include <nlohmann/json.hpp>

#include "common/options.h"
#include "delta/files/partition_values.h"
#include "delta/files/value_text.h"

namespace thalweg::delta {
namespace {

// A value in one of three orders; nothing where it cannot be ordered with certainty.
using Ordered = std::variant<std::monostate, int64_t, double, std::string>;

Ordered orderedOf(const arrow::Scalar& scalar) {
  if (!scalar.is_valid) return {};
  switch (scalar.type->id()) {
    case arrow::Type::BOOL:
      return int64_t{static_cast<const arrow::BooleanScalar&>(scalar).value};
    case arrow::Type::INT8:
      return int64_t{static_cast<const arrow::Int8Scalar&>(scalar).value};
    case arrow::Type::INT16:
      return int64_t{static_cast<const arrow::Int16Scalar&>(scalar).value};
    case arrow::Type::INT32:
      return int64_t{static_cast<const arrow::Int32Scalar&>(scalar).value};
    case arrow::Type::INT64:
      return static_cast<const arrow::Int64Scalar&>(scalar).value;
    case arrow::Type::DATE32:
      return int64_t{static_cast<const arrow::Date32Scalar&>(scalar).value};
    case arrow::Type::TIMESTAMP:
      return static_cast<const arrow::TimestampScalar&>(scalar).value;
    case arrow::Type::FLOAT: {
      const double value = static_cast<const arrow::FloatScalar&>(scalar).value;
      return std::isnan(value) ? Ordered() : Ordered(value);
    }
    case arrow::Type::DOUBLE: {
      const double value = static_cast<const arrow::DoubleScalar&>(scalar).value;
      return std::isnan(value) ? Ordered() : Ordered(value);
    }
    case arrow::Type::STRING:
      return std::string(std::string_view(*static_cast<const arrow::StringScalar&>(scalar).value));
    default:
      return {};
  }
}

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

Ordered statisticOf(const nlohmann::json& value, const DataType& type, bool isMax) {
  switch (type.id()) {
    case TypeId::Byte:
    case TypeId::Short:
    case TypeId::Int:
    case TypeId::Long:
      return value.is_number_integer() ? Ordered(value.get<int64_t>()) : Ordered();
    case TypeId::Float:
    case TypeId::Double: {
      // Infinities and NaN are texts: no bound that could prune.
      if (!value.is_number()) return {};
      // A float's shortest text may be below or above the float itself when read as a double.
      if (type.id() == TypeId::Float) return double{value.get<float>()};
      return value.get<double>();
    }
    case TypeId::String:
      return value.is_string() ? Ordered(value.get<std::string>()) : Ordered();
    case TypeId::Date: {
      const auto days = value.is_string() ? parseDateText(value.get<std::string>()) : std::nullopt;
      return days ? Ordered(int64_t{*days}) : Ordered();
    }
    case TypeId::Timestamp:
    case TypeId::TimestampNtz: {
      const auto micros = value.is_string() ? parseTimestampText(value.get<std::string>()) : std::nullopt;
      // Statistics are cut to milliseconds.
      return micros ? Ordered(isMax ? *micros + 999 : *micros) : Ordered();
    }
    default:
      return {};
  }
}

bool isSet(const Ordered& value) {
  return value.index() != 0;
}
bool isLess(const Ordered& left, const Ordered& right) {
  return isSet(left) && isSet(right) && left.index() == right.index() && left < right;
}

// Whether rows between the bounds (missing: unbounded) can satisfy the comparison.
bool rangeMayMatch(ColumnPredicate::Op op, const Ordered& min, const Ordered& max, const Ordered& literal) {
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

const nlohmann::json* member(const nlohmann::json& object, const std::string& key) {
  const auto it = object.find(key);
  return it == object.end() ? nullptr : &*it;
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
  nlohmann::json statistics;
  bool parsed = false;
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
      const Ordered exact = orderedOf(*value);
      if (isSet(exact) && !rangeMayMatch(op, exact, exact, orderedOf(*bound.predicate.literal))) return false;
      continue;
    }
    if (!file.stats) continue;
    if (!parsed) statistics = nlohmann::json::parse(*file.stats, nullptr, /*allow_exceptions=*/false);
    parsed = true;
    if (!statistics.is_object()) continue;
    const auto of = [&](const char* group) -> const nlohmann::json* {
      const auto* object = member(statistics, group);
      return object && object->is_object() ? member(*object, bound.physicalName) : nullptr;
    };
    const auto* nulls = of("nullCount");
    const auto* records = member(statistics, "numRecords");
    const bool nullsKnown = nulls && nulls->is_number_integer();
    const bool allNull =
        nullsKnown && records && records->is_number_integer() && *nulls == *records && *records > 0;
    if (op == Op::IsNull) {
      if (nullsKnown && *nulls == 0) return false;
      continue;
    }
    if (allNull) return false;
    if (op == Op::IsNotNull) continue;
    const auto* min = of("minValues");
    const auto* max = of("maxValues");
    if (!rangeMayMatch(op, min ? statisticOf(*min, *bound.type, false) : Ordered(),
                       max ? statisticOf(*max, *bound.type, true) : Ordered(),
                       orderedOf(*bound.predicate.literal))) {
      return false;
    }
  }
  return true;
}

}  // namespace thalweg::delta
