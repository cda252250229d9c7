#include "delta/scan/value_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <arrow/array.h>
#include <arrow/scalar.h>
#include <nlohmann/json.hpp>

#include "delta/files/value_text.h"
#include "types/arrow_result.h"

namespace thalweg::delta {
namespace {

const nlohmann::json* member(const nlohmann::json& object, const std::string& key) {
  if (!object.is_object()) return nullptr;
  const auto it = object.find(key);
  return it == object.end() ? nullptr : &*it;
}

// Nothing for what no long can be.
std::optional<int64_t> integerOf(const nlohmann::json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX}) return std::nullopt;
  return value.get<int64_t>();
}

OrderedValue statisticOf(const nlohmann::json& value, const DataType& type, bool isMax) {
  switch (type.id()) {
    case TypeId::Byte:
    case TypeId::Short:
    case TypeId::Int:
    case TypeId::Long:
      return integerOf(value) ? OrderedValue(*integerOf(value)) : OrderedValue();
    case TypeId::Float:
    case TypeId::Double: {
      // Infinities and NaN are texts: no bound that could prune.
      if (!value.is_number()) return {};
      // A float's shortest text may be below or above the float itself when read as a double. A column of
      // doubles may have been one of floats when the text was written.
      const auto number = value.get<double>();
      const bool fits = std::abs(number) <= std::numeric_limits<float>::max();
      const double asFloat = fits ? double{static_cast<float>(number)} : number;
      if (type.id() == TypeId::Float) return asFloat;
      return isMax ? std::max(number, asFloat) : std::min(number, asFloat);
    }
    case TypeId::String:
      return value.is_string() ? OrderedValue(value.get<std::string>()) : OrderedValue();
    case TypeId::Date: {
      const auto days = value.is_string() ? parseDateText(value.get<std::string>()) : std::nullopt;
      return days ? OrderedValue(int64_t{*days}) : OrderedValue();
    }
    case TypeId::Timestamp:
    case TypeId::TimestampNtz: {
      const auto micros = value.is_string() ? parseTimestampText(value.get<std::string>()) : std::nullopt;
      // Statistics are cut to milliseconds.
      return micros ? OrderedValue(isMax ? *micros + 999 : *micros) : OrderedValue();
    }
    default:
      return {};
  }
}

}  // namespace

OrderedValue orderedValue(const arrow::Scalar& scalar) {
  if (!scalar.is_valid) return {};
  return orderedValue(*valueOrThrow(arrow::MakeArrayFromScalar(scalar, 1)), 0);
}

OrderedValue orderedValue(const arrow::Array& array, int64_t row) {
  const auto integer = [&]<typename ArrayType>(const ArrayType& values) {
    return OrderedValue(int64_t{values.Value(row)});
  };
  const auto floating = [&]<typename ArrayType>(const ArrayType& values) {
    const double value = values.Value(row);
    return std::isnan(value) ? OrderedValue() : OrderedValue(value);
  };
  switch (array.type_id()) {
    case arrow::Type::BOOL:
      return integer(static_cast<const arrow::BooleanArray&>(array));
    case arrow::Type::INT8:
      return integer(static_cast<const arrow::Int8Array&>(array));
    case arrow::Type::INT16:
      return integer(static_cast<const arrow::Int16Array&>(array));
    case arrow::Type::INT32:
      return integer(static_cast<const arrow::Int32Array&>(array));
    case arrow::Type::INT64:
      return integer(static_cast<const arrow::Int64Array&>(array));
    case arrow::Type::DATE32:
      return integer(static_cast<const arrow::Date32Array&>(array));
    case arrow::Type::TIMESTAMP:
      return integer(static_cast<const arrow::TimestampArray&>(array));
    case arrow::Type::FLOAT:
      return floating(static_cast<const arrow::FloatArray&>(array));
    case arrow::Type::DOUBLE:
      return floating(static_cast<const arrow::DoubleArray&>(array));
    case arrow::Type::STRING:
      return std::string(static_cast<const arrow::StringArray&>(array).GetView(row));
    default:
      return {};
  }
}

bool isSet(const OrderedValue& value) {
  return value.index() != 0;
}
bool isLess(const OrderedValue& left, const OrderedValue& right) {
  return isSet(left) && isSet(right) && left.index() == right.index() && left < right;
}

struct StatisticsView::Document {
  nlohmann::json json;

  const nlohmann::json* find(const char* group, const std::vector<std::string>& path) const {
    const nlohmann::json* value = member(json, group);
    for (const std::string& name : path) value = value ? member(*value, name) : nullptr;
    return value;
  }
};

StatisticsView::StatisticsView(std::string_view stats)
    : document_(new Document{nlohmann::json::parse(stats, nullptr, /*allow_exceptions=*/false)}) {}

StatisticsView::~StatisticsView() = default;

std::optional<int64_t> StatisticsView::numRecords() const {
  const auto* count = member(document_->json, "numRecords");
  return count ? integerOf(*count) : std::nullopt;
}

ValueBounds StatisticsView::boundsOf(const std::vector<std::string>& path, const DataType& type) const {
  ValueBounds bounds;
  bounds.numRecords = numRecords();
  if (const auto* nulls = document_->find("nullCount", path); nulls) bounds.nullCount = integerOf(*nulls);
  if (const auto* min = document_->find("minValues", path)) bounds.min = statisticOf(*min, type, false);
  if (const auto* max = document_->find("maxValues", path)) bounds.max = statisticOf(*max, type, true);
  return bounds;
}

}  // namespace thalweg::delta
