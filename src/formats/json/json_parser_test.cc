#include "formats/json/json_parser.h"

#include <fstream>
#include <random>

#include <arrow/api.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "formats/json/recorded_json.h"
#include "formats/text_values/number_text.h"
#include "formats/text_values/time_text.h"
#include "types/ddl.h"

namespace thalweg {
namespace {

// A value as Spark's CAST(… AS STRING) prints it, in UTC.
void print(const arrow::Array& array, int64_t row, std::string* out) {
  if (array.IsNull(row)) {
    out->append("null");
    return;
  }
  switch (array.type_id()) {
    case arrow::Type::BOOL:
      out->append(static_cast<const arrow::BooleanArray&>(array).Value(row) ? "true" : "false");
      return;
    case arrow::Type::INT8:
      return appendLong(static_cast<const arrow::Int8Array&>(array).Value(row), out);
    case arrow::Type::INT16:
      return appendLong(static_cast<const arrow::Int16Array&>(array).Value(row), out);
    case arrow::Type::INT32:
      return appendLong(static_cast<const arrow::Int32Array&>(array).Value(row), out);
    case arrow::Type::INT64:
      return appendLong(static_cast<const arrow::Int64Array&>(array).Value(row), out);
    case arrow::Type::FLOAT:
      return appendFloat(static_cast<const arrow::FloatArray&>(array).Value(row), out);
    case arrow::Type::DOUBLE:
      return appendDouble(static_cast<const arrow::DoubleArray&>(array).Value(row), out);
    case arrow::Type::DATE32:
      return appendDate(static_cast<const arrow::Date32Array&>(array).Value(row), out);
    case arrow::Type::TIMESTAMP:
      return appendTimestamp(static_cast<const arrow::TimestampArray&>(array).Value(row), out);
    case arrow::Type::DECIMAL128: {
      const auto& decimals = static_cast<const arrow::Decimal128Array&>(array);
      const int scale = static_cast<const arrow::Decimal128Type&>(*array.type()).scale();
      return appendDecimal(arrow::Decimal128(decimals.GetValue(row)), scale, out);
    }
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      out->append(static_cast<const arrow::BinaryArray&>(array).GetView(row));
      return;
    case arrow::Type::LIST: {
      const auto& list = static_cast<const arrow::ListArray&>(array);
      out->push_back('[');
      for (int64_t i = list.value_offset(row); i < list.value_offset(row + 1); ++i) {
        if (i > list.value_offset(row)) out->append(", ");
        print(*list.values(), i, out);
      }
      out->push_back(']');
      return;
    }
    case arrow::Type::MAP: {
      const auto& map = static_cast<const arrow::MapArray&>(array);
      out->push_back('{');
      for (int64_t i = map.value_offset(row); i < map.value_offset(row + 1); ++i) {
        if (i > map.value_offset(row)) out->append(", ");
        print(*map.keys(), i, out);
        out->append(" -> ");
        print(*map.items(), i, out);
      }
      out->push_back('}');
      return;
    }
    case arrow::Type::STRUCT: {
      const auto& rows = static_cast<const arrow::StructArray&>(array);
      out->push_back('{');
      for (int i = 0; i < rows.num_fields(); ++i) {
        if (i > 0) out->append(", ");
        print(*rows.field(i), row, out);
      }
      out->push_back('}');
      return;
    }
    default:
      out->append("?");
  }
}

std::string print(const arrow::Array& array, int64_t row) {
  std::string text;
  if (array.IsNull(row)) return "NULL";
  print(array, row, &text);
  return text;
}

std::shared_ptr<arrow::Array> binaries(const std::vector<std::string_view>& texts) {
  arrow::BinaryBuilder builder;
  for (std::string_view text : texts) EXPECT_TRUE(builder.Append(text.data(), static_cast<int32_t>(text.size())).ok());
  return builder.Finish().ValueOrDie();
}

DataTypePtr schemaOf(std::string_view ddl) {
  const bool single = ddl.starts_with("array<") || ddl.starts_with("map<");
  return single ? parseTypeDdl(ddl) : parseSchemaDdl(ddl);
}

Options optionsOf(std::string_view text) {
  Options options;
  while (!text.empty()) {
    const auto end = std::min(text.find('|'), text.size());
    const auto entry = text.substr(0, end);
    const auto equal = entry.find('=');
    options.set(std::string(entry.substr(0, equal)), std::string(entry.substr(equal + 1)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return options;
}

std::string parseOne(const JsonParser& parser, std::string_view text, bool fast) {
  auto worker = parser.newWorker();
  if (!fast) worker->disableFastParser();
  const auto result = worker->parse(*binaries({text}));
  EXPECT_TRUE(result->ValidateFull().ok()) << result->ValidateFull().message();
  return print(*result, 0);
}

TEST(JsonParserRecorded, AnswersAsSparkDid) {
  for (const RecordedJson& recorded : kRecordedJson) {
    SCOPED_TRACE("from_json(" + std::string(recorded.text) + ", " + std::string(recorded.schema) + ") " + std::string(recorded.options));
    const JsonParser parser(schemaOf(recorded.schema), JsonOptions::parse(optionsOf(recorded.options)));
    EXPECT_EQ(parseOne(parser, recorded.text, false), recorded.answer) << "exact parser";
    EXPECT_EQ(parseOne(parser, recorded.text, true), recorded.answer) << "fast parser first";
  }
}

}  // namespace
}  // namespace thalweg
