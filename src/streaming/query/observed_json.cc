#include "streaming/query/observed_json.h"

#include <cmath>
#include <map>

#include <arrow/api.h>
#include <arrow/util/base64.h>
#include <nlohmann/json.hpp>

#include "common/json_text.h"
#include "expr/cast/value_text.h"

namespace thalweg {
namespace {

using Json = nlohmann::ordered_json;

class RowJson {
 public:
  explicit RowJson(TimeZone zone) : zone_(std::move(zone)) {}

  Json object(const std::vector<StructField>& fields,
              const std::vector<std::shared_ptr<arrow::Array>>& columns, int64_t row) const {
    Json json = Json::object();
    for (size_t i = 0; i < fields.size(); ++i)
      json[fields[i].name] = value(*fields[i].type, *columns[i], row);
    return json;
  }

 private:
  Json value(const DataType& type, const arrow::Array& column, int64_t row) const {
    if (type.id() == TypeId::Void || column.IsNull(row)) return nullptr;
    switch (type.id()) {
      case TypeId::Boolean:
        return static_cast<const arrow::BooleanArray&>(column).Value(row);
      case TypeId::Byte:
        return static_cast<const arrow::Int8Array&>(column).Value(row);
      case TypeId::Short:
        return static_cast<const arrow::Int16Array&>(column).Value(row);
      case TypeId::Int:
        return static_cast<const arrow::Int32Array&>(column).Value(row);
      case TypeId::Long:
        return static_cast<const arrow::Int64Array&>(column).Value(row);
      case TypeId::Float:
        return static_cast<double>(static_cast<const arrow::FloatArray&>(column).Value(row));
      case TypeId::Double:
        return static_cast<const arrow::DoubleArray&>(column).Value(row);
      case TypeId::Decimal:
        return parseOrderedJson(static_cast<const arrow::Decimal128Array&>(column).FormatValue(row));
      case TypeId::Binary:
        return arrow::util::base64_encode(static_cast<const arrow::BinaryArray&>(column).GetView(row));
      case TypeId::Array:
        return list(type, column, row);
      case TypeId::Map:
        return map(type, column, row);
      case TypeId::Struct:
        return object(type.fields(), static_cast<const arrow::StructArray&>(column).fields(), row);
      default:
        return text(type, column, row);
    }
  }

  Json text(const DataType& type, const arrow::Array& column, int64_t row) const {
    std::string text;
    ValueText(type, zone_).append(column, row, &text);
    if (type.id() == TypeId::Timestamp || type.id() == TypeId::TimestampNtz)
      text = text.substr(0, text.find('.'));
    return text;
  }

  Json list(const DataType& type, const arrow::Array& column, int64_t row) const {
    const auto& lists = static_cast<const arrow::ListArray&>(column);
    Json json = Json::array();
    for (int64_t i = lists.value_offset(row); i < lists.value_offset(row + 1); ++i)
      json.push_back(value(*type.element(), *lists.values(), i));
    return json;
  }

  Json map(const DataType& type, const arrow::Array& column, int64_t row) const {
    const auto& maps = static_cast<const arrow::MapArray&>(column);
    std::map<std::string, Json> named;
    Json entries = Json::array();
    for (int64_t i = maps.value_offset(row); i < maps.value_offset(row + 1); ++i) {
      Json key = value(*type.key(), *maps.keys(), i), item = value(*type.value(), *maps.items(), i);
      if (type.key()->id() == TypeId::String)
        named[key.get<std::string>()] = std::move(item);
      else
        entries.push_back({{"key", std::move(key)}, {"value", std::move(item)}});
    }
    return type.key()->id() == TypeId::String ? Json(named) : entries;
  }

  TimeZone zone_;
};

}  // namespace

std::string observedJson(const ObservedMetrics& observed, const TimeZone& zone) {
  return toJsonText(RowJson(zone).object(observed.schema->fields(), observed.row->columns(), 0));
}

}  // namespace thalweg
