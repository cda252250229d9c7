#include "delta/files/statistics.h"

#include <charconv>
#include <cmath>
#include <limits>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/util/bit_run_reader.h>
#include <arrow/util/decimal.h>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/options.h"
#include "delta/files/value_text.h"

namespace thalweg::delta {
namespace {

std::string jsonString(std::string_view text) {
  return nlohmann::json(std::string(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

template <typename ArrowArray>
struct NumberBounds {
  using Value = typename ArrowArray::value_type;
  Value min = std::numeric_limits<Value>::max();
  Value max = std::numeric_limits<Value>::lowest();
  bool any = false;

  void addRun(const Value* values, int64_t count) {
    Value low = min;
    Value high = max;
    for (int64_t i = 0; i < count; ++i) {
      low = values[i] < low ? values[i] : low;
      high = values[i] > high ? values[i] : high;
    }
    min = low;
    max = high;
    any = true;
  }

  void add(const arrow::Array& array) {
    const auto* values = static_cast<const ArrowArray&>(array).raw_values();
    if (array.null_count() == 0) {
      if (array.length() > 0) addRun(values, array.length());
      return;
    }
    arrow::internal::VisitSetBitRunsVoid(
        array.null_bitmap_data(), array.offset(), array.length(),
        [&](int64_t start, int64_t count) { addRun(values + start, count); });
  }
};

// NaN is greater than every number, as in Spark's order.
template <typename ArrowArray>
struct FloatBounds {
  using Value = typename ArrowArray::value_type;
  Value min = std::numeric_limits<Value>::infinity();
  Value max = -std::numeric_limits<Value>::infinity();
  bool anyNumber = false;
  bool anyNan = false;

  void addRun(const Value* values, int64_t count) {
    Value low = min;
    Value high = max;
    int64_t nans = 0;
    for (int64_t i = 0; i < count; ++i) {
      low = values[i] < low ? values[i] : low;
      high = values[i] > high ? values[i] : high;
      nans += values[i] != values[i];
    }
    min = low;
    max = high;
    anyNan |= nans > 0;
    anyNumber |= nans < count;
  }

  void add(const arrow::Array& array) {
    const auto* values = static_cast<const ArrowArray&>(array).raw_values();
    if (array.null_count() == 0) {
      addRun(values, array.length());
      return;
    }
    arrow::internal::VisitSetBitRunsVoid(
        array.null_bitmap_data(), array.offset(), array.length(),
        [&](int64_t start, int64_t count) { addRun(values + start, count); });
  }
};

struct DecimalBounds {
  arrow::Decimal128 min;
  arrow::Decimal128 max;
  bool any = false;

  void add(const arrow::Array& array) {
    const auto& decimals = static_cast<const arrow::Decimal128Array&>(array);
    for (int64_t i = 0; i < array.length(); ++i) {
      if (array.IsNull(i)) continue;
      const arrow::Decimal128 value(decimals.GetValue(i));
      if (!any || value < min) min = value;
      if (!any || value > max) max = value;
      any = true;
    }
  }
};

// Compares eight bytes at once: most values are settled by their front.
struct StringBounds {
  std::string min;
  std::string max;
  uint64_t minFront = 0;
  uint64_t maxFront = 0;
  bool any = false;

  static uint64_t frontOf(const uint8_t* text, size_t length, bool eightReadable) {
    uint64_t front = 0;
    if (eightReadable) {
      std::memcpy(&front, text, 8);
      front = __builtin_bswap64(front);
      return length >= 8 ? front : length == 0 ? 0 : front & ~(~uint64_t{0} >> (8 * length));
    }
    for (size_t i = 0; i < std::min<size_t>(length, 8); ++i) front |= uint64_t{text[i]} << (56 - 8 * i);
    return front;
  }

  void addValue(std::string_view value, uint64_t front) {
    if (!any) {
      min = max = value;
      minFront = maxFront = front;
      any = true;
      return;
    }
    if (front < minFront || (front == minFront && value < min)) {
      min = value;
      minFront = front;
    }
    if (front > maxFront || (front == maxFront && value > max)) {
      max = value;
      maxFront = front;
    }
  }

  void add(const arrow::Array& array) {
    const auto& strings = static_cast<const arrow::BinaryArray&>(array);
    const int32_t* offsets = strings.raw_value_offsets();
    const auto* bytes = strings.value_data() ? strings.value_data()->data() : nullptr;
    const int64_t readable = strings.value_data() ? strings.value_data()->size() : 0;
    const bool nulls = array.null_count() > 0;
    for (int64_t i = 0; i < array.length(); ++i) {
      if (nulls && array.IsNull(i)) continue;
      const auto length = static_cast<size_t>(offsets[i + 1] - offsets[i]);
      const uint8_t* text = bytes + offsets[i];
      addValue({reinterpret_cast<const char*>(text), length},
               frontOf(text, length, offsets[i] + 8 <= readable));
    }
  }
};

using Bounds = std::variant<std::monostate, NumberBounds<arrow::Int8Array>, NumberBounds<arrow::Int16Array>,
                            NumberBounds<arrow::Int32Array>, NumberBounds<arrow::Int64Array>,
                            NumberBounds<arrow::Date32Array>, NumberBounds<arrow::TimestampArray>,
                            FloatBounds<arrow::FloatArray>, FloatBounds<arrow::DoubleArray>, DecimalBounds,
                            StringBounds>;

Bounds boundsFor(const DataType& type) {
  switch (type.id()) {
    case TypeId::Byte:
      return NumberBounds<arrow::Int8Array>();
    case TypeId::Short:
      return NumberBounds<arrow::Int16Array>();
    case TypeId::Int:
      return NumberBounds<arrow::Int32Array>();
    case TypeId::Long:
      return NumberBounds<arrow::Int64Array>();
    case TypeId::Date:
      return NumberBounds<arrow::Date32Array>();
    case TypeId::Timestamp:
    case TypeId::TimestampNtz:
      return NumberBounds<arrow::TimestampArray>();
    case TypeId::Float:
      return FloatBounds<arrow::FloatArray>();
    case TypeId::Double:
      return FloatBounds<arrow::DoubleArray>();
    case TypeId::Decimal:
      return DecimalBounds();
    case TypeId::String:
      return StringBounds();
    default:
      return std::monostate();
  }
}

// The JSON text of one end of a column's bounds, or nothing.
struct BoundText {
  const DataType& type;
  const StatisticsOptions& options;
  bool isMax;

  std::optional<std::string> operator()(const std::monostate&) const { return std::nullopt; }

  template <typename ArrowArray>
  std::optional<std::string> operator()(const NumberBounds<ArrowArray>& bounds) const {
    if (!bounds.any) return std::nullopt;
    const int64_t value = isMax ? bounds.max : bounds.min;
    std::optional<std::string> text;
    switch (type.id()) {
      case TypeId::Date:
        text = dateText(value);
        break;
      case TypeId::Timestamp:
        text = timestampText(value, 'T', 3);
        break;
      case TypeId::TimestampNtz:
        text = timestampText(value, 'T', 3);
        break;
      default:
        return std::to_string(value);
    }
    if (!text) return std::nullopt;
    return jsonString(*text + (type.id() == TypeId::Timestamp ? "Z" : ""));
  }

  template <typename ArrowArray>
  std::optional<std::string> operator()(const FloatBounds<ArrowArray>& bounds) const {
    if (!bounds.anyNumber && !bounds.anyNan) return std::nullopt;
    if (!bounds.anyNumber || (isMax && bounds.anyNan)) return jsonString("NaN");
    const auto value = isMax ? bounds.max : bounds.min;
    return std::isinf(value) ? jsonString(javaText(value)) : javaText(value);
  }

  std::optional<std::string> operator()(const DecimalBounds& bounds) const {
    if (!bounds.any) return std::nullopt;
    return (isMax ? bounds.max : bounds.min).ToString(type.scale());
  }

  std::optional<std::string> operator()(const StringBounds& bounds) const {
    if (!bounds.any) return std::nullopt;
    const auto text = isMax ? truncateMaximum(bounds.max, options.stringPrefixLength)
                            : truncateMinimum(bounds.min, options.stringPrefixLength);
    if (!text) return std::nullopt;
    return jsonString(*text);
  }
};

// A comma-separated list of dotted names, back-ticks around names that hold dots or commas.
std::vector<std::vector<std::string>> parseColumnList(std::string_view text) {
  std::vector<std::vector<std::string>> columns(1, {""});
  bool inTicks = false;
  for (const char c : text) {
    if (c == '`') {
      inTicks = !inTicks;
    } else if (!inTicks && c == ',') {
      columns.push_back({""});
    } else if (!inTicks && c == '.') {
      columns.back().push_back("");
    } else if (inTicks || c != ' ') {
      columns.back().back() += c;
    }
  }
  std::erase_if(columns, [](const auto& column) { return column.size() == 1 && column[0].empty(); });
  return columns;
}

}  // namespace

class StatisticsCollector::Column {
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
        column->children_.push_back(
            make(field.type->fields()[i], logical.type->fields()[i], options, path, budget));
        any |= column->children_.back() != nullptr;
      }
      return any ? std::move(column) : nullptr;
    }
    if (!isIndexed(options, path, budget)) return nullptr;
    column->bounds_ = boundsFor(*field.type);
    return column;
  }

  void add(const arrow::Array& array) {
    if (type_->id() == TypeId::Struct) {
      const auto& rows = static_cast<const arrow::StructArray&>(array);
      for (size_t i = 0; i < children_.size(); ++i) {
        if (!children_[i]) continue;
        // A null struct makes its members null.
        const auto member = rows.GetFlattenedField(static_cast<int>(i));
        if (!member.ok())
          throw Error("OUT_OF_MEMORY", "No memory for statistics: " + member.status().message());
        children_[i]->add(**member);
      }
      return;
    }
    nullCount_ += array.null_count();
    std::visit(
        [&](auto& bounds) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(bounds)>, std::monostate>) bounds.add(array);
        },
        bounds_);
  }

  const std::string& name() const { return name_; }

  std::optional<std::string> boundJson(const StatisticsOptions& options, bool isMax) const {
    if (type_->id() != TypeId::Struct) return std::visit(BoundText{*type_, options, isMax}, bounds_);
    return membersJson([&](const Column& child) { return child.boundJson(options, isMax); });
  }

  std::optional<std::string> nullCountJson() const {
    if (type_->id() != TypeId::Struct) return std::to_string(nullCount_);
    return membersJson([](const Column& child) { return child.nullCountJson(); });
  }

  template <typename Member>
  static std::string objectJson(const std::vector<std::unique_ptr<Column>>& columns, const Member& member) {
    std::string json = "{";
    for (const auto& column : columns) {
      const auto text = column ? member(*column) : std::nullopt;
      if (!text) continue;
      if (json.size() > 1) json += ",";
      json += jsonString(column->name()) + ":" + *text;
    }
    return json + "}";
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

  template <typename Member>
  std::string membersJson(const Member& member) const {
    return objectJson(children_, member);
  }

  std::string name_;
  DataTypePtr type_;
  std::vector<std::unique_ptr<Column>> children_;
  Bounds bounds_;
  int64_t nullCount_ = 0;
};

StatisticsCollector::StatisticsCollector(SchemaPtr schema, const Schema& logicalSchema,
                                         StatisticsOptions options)
    : schema_(std::move(schema)), options_(std::move(options)) {
  int64_t budget = options_.numIndexedColumns;
  for (size_t i = 0; i < schema_->fields().size(); ++i) {
    columns_.push_back(Column::make(schema_->fields()[i], logicalSchema.fields()[i], options_, {}, &budget));
  }
}

StatisticsCollector::~StatisticsCollector() = default;

void StatisticsCollector::add(const arrow::RecordBatch& rows) {
  numRecords_ += rows.num_rows();
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i]) columns_[i]->add(*rows.column(static_cast<int>(i)));
  }
}

std::string StatisticsCollector::toJson() const {
  const auto bound = [&](bool isMax) {
    return Column::objectJson(columns_,
                              [&](const Column& column) { return column.boundJson(options_, isMax); });
  };
  std::string json = "{\"numRecords\":" + std::to_string(numRecords_);
  json += ",\"minValues\":" + bound(false) + ",\"maxValues\":" + bound(true);
  json += ",\"nullCount\":" +
          Column::objectJson(columns_, [](const Column& column) { return column.nullCountJson(); });
  if (options_.tightBounds) json += ",\"tightBounds\":true";
  return json + "}";
}

StatisticsOptions statisticsOptions(const Metadata& metadata, const Protocol& protocol) {
  StatisticsOptions options;
  const auto number = [&](const char* key, int64_t* value) {
    const auto it = metadata.configuration.find(key);
    if (it == metadata.configuration.end()) return;
    int64_t parsed = 0;
    const char* end = it->second.data() + it->second.size();
    if (std::from_chars(it->second.data(), end, parsed).ptr == end) *value = parsed;
  };
  number("delta.dataSkippingNumIndexedCols", &options.numIndexedColumns);
  number("delta.dataSkippingStringPrefixLength", &options.stringPrefixLength);
  options.stringPrefixLength = std::max<int64_t>(options.stringPrefixLength, 1);
  if (const auto it = metadata.configuration.find("delta.dataSkippingStatsColumns");
      it != metadata.configuration.end()) {
    options.columns = parseColumnList(it->second);
  }
  if (protocol.writerFeatures) {
    const auto& features = *protocol.writerFeatures;
    options.tightBounds = std::find(features.begin(), features.end(), "deletionVectors") != features.end();
  }
  return options;
}

}  // namespace thalweg::delta
