#include "delta/files/statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <arrow/util/decimal.h>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/options.h"
#include "delta/files/value_text.h"
#include "delta/snapshot/property_values.h"
#include "delta/snapshot/statistics_columns.h"

namespace thalweg::delta {
namespace {

std::string jsonString(std::string_view text) {
  return nlohmann::json(std::string(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The JSON text of one end of a column's bounds, or nothing: not every type that has bounds in files has them
// here.
struct BoundText {
  const DataType& type;
  const StatisticsOptions& options;
  bool isMax;

  std::optional<std::string> operator()(std::monostate) const { return std::nullopt; }

  std::optional<std::string> operator()(int64_t value) const {
    switch (type.id()) {
      case TypeId::Boolean:
        return std::nullopt;
      case TypeId::Date:
        return quoted(dateText(value), "");
      case TypeId::Timestamp:
        return quoted(timestampText(value, 'T', 3), "Z");
      case TypeId::TimestampNtz:
        return quoted(timestampText(value, 'T', 3), "");
      default:
        return std::to_string(value);
    }
  }

  std::optional<std::string> operator()(double value) const {
    const std::string text =
        type.id() == TypeId::Float ? javaText(static_cast<float>(value)) : javaText(value);
    return std::isinf(value) ? jsonString(text) : text;
  }

  std::optional<std::string> operator()(__int128 value) const {
    const arrow::Decimal128 decimal(static_cast<int64_t>(value >> 64), static_cast<uint64_t>(value));
    return decimal.ToString(type.scale());
  }

  std::optional<std::string> operator()(const std::string& value) const {
    if (type.id() != TypeId::String) return std::nullopt;
    const auto text = isMax ? truncateMaximum(value, options.stringPrefixLength)
                            : truncateMinimum(value, options.stringPrefixLength);
    return quoted(text, "");
  }

  static std::optional<std::string> quoted(const std::optional<std::string>& text, const char* end) {
    if (!text) return std::nullopt;
    return jsonString(*text + end);
  }
};

// NaN is greater than every number, as in Spark's order.
std::optional<std::string> boundJson(const ParquetBounds& bounds, const DataType& type,
                                     const StatisticsOptions& options, bool isMax) {
  const bool anyNumber = !std::holds_alternative<std::monostate>(bounds.min);
  if (bounds.hasNan && (isMax || !anyNumber)) return jsonString("NaN");
  return std::visit(BoundText{type, options, isMax}, isMax ? bounds.max : bounds.min);
}

}  // namespace

class FileStatistics::Column {
 public:
  // Null where no leaf below is indexed. `budget` counts the leaf columns that may still be indexed.
  static std::unique_ptr<Column> make(const StructField& field, const StructField& logical,
                                      const StatisticsOptions& options, std::vector<std::string> path,
                                      int64_t* budget) {
    path.push_back(logical.name);
    auto column = std::make_unique<Column>();
    column->name_ = field.name;
    column->type_ = field.type;
    if (field.type->id() == TypeId::Struct) {
      bool any = false;
      for (size_t i = 0; i < field.type->fields().size(); ++i) {
        column->members_.push_back(
            make(field.type->fields()[i], logical.type->fields()[i], options, path, budget));
        any |= column->members_.back() != nullptr;
      }
      return any ? std::move(column) : nullptr;
    }
    return isIndexed(options, path, budget) ? std::move(column) : nullptr;
  }

  // What `leaf` says of each indexed column of single values or lists, as nested JSON objects.
  using Leaf =
      std::function<std::optional<std::string>(const DataType& type, const ParquetColumnStatistics& column)>;
  static std::string objectJson(const std::vector<std::unique_ptr<Column>>& columns,
                                const std::vector<ParquetColumnStatistics>& written, const Leaf& leaf) {
    std::string json = "{";
    for (size_t i = 0; i < columns.size(); ++i) {
      if (!columns[i]) continue;
      const auto text = columns[i]->type_->id() == TypeId::Struct
                            ? objectJson(columns[i]->members_, written[i].members, leaf)
                            : leaf(*columns[i]->type_, written[i]);
      if (!text) continue;
      if (json.size() > 1) json += ",";
      json += jsonString(columns[i]->name_) + ":" + *text;
    }
    return json + "}";
  }

  // A struct of what `leaf` makes of each indexed column; null where that is nothing.
  static DataTypePtr typeOf(const std::vector<std::unique_ptr<Column>>& columns,
                            const std::function<DataTypePtr(const DataTypePtr&)>& leaf) {
    std::vector<StructField> fields;
    for (const auto& column : columns) {
      if (!column) continue;
      DataTypePtr type =
          column->type_->id() == TypeId::Struct ? typeOf(column->members_, leaf) : leaf(column->type_);
      if (type) fields.push_back({column->name_, std::move(type)});
    }
    return fields.empty() ? nullptr : DataType::structOf(std::move(fields));
  }

 private:
  static bool isIndexed(const StatisticsOptions& options, const std::vector<std::string>& path,
                        int64_t* budget) {
    if (!options.columns) {
      if (options.numIndexedColumns < 0) return true;
      return (*budget)-- > 0;
    }
    return std::any_of(options.columns->begin(), options.columns->end(), [&](const auto& wanted) {
      return wanted.size() <= path.size() &&
             std::equal(wanted.begin(), wanted.end(), path.begin(),
                        [](const auto& a, const auto& b) { return equalsIgnoreCase(a, b); });
    });
  }

  std::string name_;
  DataTypePtr type_;
  std::vector<std::unique_ptr<Column>> members_;  // of a struct
};

FileStatistics::FileStatistics(const Schema& schema, const Schema& logicalSchema, StatisticsOptions options)
    : options_(std::move(options)) {
  int64_t budget = options_.numIndexedColumns;
  for (size_t i = 0; i < schema.fields().size(); ++i) {
    columns_.push_back(Column::make(schema.fields()[i], logicalSchema.fields()[i], options_, {}, &budget));
  }
}

FileStatistics::~FileStatistics() = default;

std::string FileStatistics::toJson(int64_t numRecords,
                                   const std::vector<ParquetColumnStatistics>& written) const {
  const auto bound = [&](bool isMax) {
    return Column::objectJson(columns_, written,
                              [&](const DataType& type, const ParquetColumnStatistics& column) {
                                return boundJson(column.bounds, type, options_, isMax);
                              });
  };
  std::string json = "{\"numRecords\":" + std::to_string(numRecords);
  json += ",\"minValues\":" + bound(false) + ",\"maxValues\":" + bound(true);
  json += ",\"nullCount\":" +
          Column::objectJson(columns_, written, [](const DataType&, const ParquetColumnStatistics& column) {
            return std::optional(std::to_string(column.nullCount));
          });
  if (options_.tightBounds) json += ",\"tightBounds\":true";
  return json + "}";
}

DataTypePtr FileStatistics::parsedType() const {
  const DataTypePtr bounds = Column::typeOf(
      columns_, [](const DataTypePtr& type) { return hasBounds(*type) ? type : DataTypePtr(); });
  const DataTypePtr nulls = Column::typeOf(columns_, [](const DataTypePtr&) { return longType(); });
  std::vector<StructField> fields = {{"numRecords", longType()}};
  if (bounds) fields.insert(fields.end(), {{"minValues", bounds}, {"maxValues", bounds}});
  if (nulls) fields.push_back({"nullCount", nulls});
  if (options_.tightBounds) fields.push_back({"tightBounds", booleanType()});
  return DataType::structOf(std::move(fields));
}

StatisticsOptions statisticsOptions(const Metadata& metadata, const Protocol& protocol) {
  StatisticsOptions options;
  const auto number = [&](const char* key, int64_t* value) {
    const auto text = tableProperty(metadata, key);
    if (text) *value = parsePropertyNumber(*text).value_or(*value);
  };
  number("delta.dataSkippingNumIndexedCols", &options.numIndexedColumns);
  number("delta.dataSkippingStringPrefixLength", &options.stringPrefixLength);
  options.stringPrefixLength = std::max<int64_t>(options.stringPrefixLength, 1);
  if (const auto columns = tableProperty(metadata, kStatisticsColumns))
    options.columns = parseColumnList(*columns);
  if (protocol.writerFeatures) {
    const auto& features = *protocol.writerFeatures;
    options.tightBounds = std::find(features.begin(), features.end(), "deletionVectors") != features.end();
  }
  return options;
}

}  // namespace thalweg::delta
