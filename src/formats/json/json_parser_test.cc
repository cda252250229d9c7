#include "formats/json/json_parser.h"

#include <fstream>
#include <map>
#include <random>

#include <arrow/api.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "formats/json/recorded_json.h"
#include "types/ddl.h"
#include "types/text/number_text.h"
#include "types/text/time_text.h"

namespace thalweg {
namespace {

// A line of /proc/self/status in bytes ("VmRSS", "VmHWM").
int64_t memoryOf(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stoll(line.substr(name.size() + 1)) * 1024;
  }
  return -1;
}

// From here on VmHWM counts anew.
bool resetPeakMemory() {
  return static_cast<bool>(std::ofstream("/proc/self/clear_refs") << "5" << std::flush);
}

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
  for (std::string_view text : texts)
    EXPECT_TRUE(builder.Append(text.data(), static_cast<int32_t>(text.size())).ok());
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
    SCOPED_TRACE("from_json(" + std::string(recorded.text) + ", " + std::string(recorded.schema) + ") " +
                 std::string(recorded.options));
    const JsonParser parser(schemaOf(recorded.schema), JsonOptions::parse(optionsOf(recorded.options)));
    EXPECT_EQ(parseOne(parser, recorded.text, false), recorded.answer) << "exact parser";
    EXPECT_EQ(parseOne(parser, recorded.text, true), recorded.answer) << "fast parser first";
  }
}

TEST(JsonParserRecorded, TakesOrdinaryRecordsFast) {
  const JsonParser parser(
      parseSchemaDdl("user_id string, product_id string, action string, timestamp timestamp, price double"),
      JsonOptions::parse({}));
  auto worker = parser.newWorker();
  const auto result = worker->parse(*binaries(
      {R"({"user_id":"u1234","product_id":"p12","action":"view","timestamp":"2026-01-15T10:00:01.123Z","price":12.5})",
       R"({ "price" : 1e2 , "user_id":"\u00fc \"x\"" ,"extra":{"a":[1,-2.5e3,null,true,{"b":"\n"}]}, "action":null})",
       R"({"user_id":"a string longer than sixteen bytes","timestamp":"2026-01-15 10:00:01"})"}));
  EXPECT_EQ(worker->fastRows(), 3);
  EXPECT_EQ(print(*result, 0), "{u1234, p12, view, 2026-01-15 10:00:01.123, 12.5}");
  EXPECT_EQ(print(*result, 1), "{ü \"x\", null, null, null, 100.0}");
  EXPECT_EQ(print(*result, 2), "{a string longer than sixteen bytes, null, null, 2026-01-15 10:00:01, null}");
}

TEST(JsonParser, RowsOutsideTheSelectionAreNullAndCannotFail) {
  const JsonParser parser(parseSchemaDdl("a int"), JsonOptions::parse({{"mode", "FAILFAST"}}));
  const std::vector<int32_t> selected = {1, 3};
  const auto texts = binaries({"bad", R"({"a":1})", "[]", R"({"a":2})", "bad"});
  const auto result = parser.parse(*texts, std::span<const int32_t>(selected));
  ASSERT_EQ(result->length(), 5);
  EXPECT_EQ(print(*result, 0), "NULL");
  EXPECT_EQ(print(*result, 1), "{1}");
  EXPECT_EQ(print(*result, 3), "{2}");
  EXPECT_EQ(print(*result, 4), "NULL");
}

// Condition of the error that parsing these texts in FAILFAST mode ends with.
std::string failure(std::string_view schema, std::string_view text) {
  const JsonParser parser(schemaOf(schema), JsonOptions::parse({{"mode", "FAILFAST"}}));
  try {
    parser.parse(*binaries({text}));
  } catch (const Error& error) {
    return error.condition() + " " + error.parameters().at("badRecord");
  }
  return "";
}

TEST(JsonParser, FailFastNamesTheFirstMalformedRow) {
  EXPECT_EQ(failure("a int", R"({"a":1)"), "MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION [null]");
  EXPECT_EQ(failure("a int", R"([{"a":1}])"),
            "MALFORMED_RECORD_IN_PARSING.CANNOT_PARSE_JSON_ARRAYS_AS_STRUCTS [{\"a\":1}]");
  EXPECT_EQ(failure("a int, d double", R"({"a":1,"d":"x"})"),
            "MALFORMED_RECORD_IN_PARSING.CANNOT_PARSE_STRING_AS_DATATYPE {\"a\":1,\"d\":\"x\"}");
  EXPECT_EQ(failure("a int, b int", R"({"a":1,"b":"x"})"),
            "MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION [1,null]");
  EXPECT_EQ(failure("a int", R"({"a":1})"), "");
}

std::string constructionFailure(std::string_view schema, const Options& options) {
  try {
    const JsonParser parser(schemaOf(schema), JsonOptions::parse(options));
  } catch (const Error& error) {
    return error.condition();
  }
  return "";
}

TEST(JsonParser, RefusesWhatSparkRefuses) {
  EXPECT_EQ(constructionFailure("a int", {{"mode", "DROPMALFORMED"}}), "PARSE_MODE_UNSUPPORTED");
  EXPECT_EQ(constructionFailure("a int", {{"mode", "NOPE"}}), "");
  EXPECT_EQ(constructionFailure("a int, _corrupt_record int", {}), "INVALID_CORRUPT_RECORD_TYPE");
  EXPECT_EQ(constructionFailure("a int", {{"timeZone", "Nowhere"}}), "INVALID_TIMEZONE");
  EXPECT_EQ(constructionFailure("map<int,int>", {}), "DATATYPE_MISMATCH.INVALID_JSON_MAP_KEY_TYPE");
  EXPECT_EQ(constructionFailure("a date", {{"dateFormat", "YYYY"}}),
            "INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_PATTERN_RECOGNITION");
}

TEST(JsonParser, ALongStringIsCopiedOnce) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "freed memory stays with the sanitizer";
#endif
  constexpr int64_t kLength = 60'000'000;
  const JsonParser parser(parseSchemaDdl("a string"), JsonOptions::parse({}));
  for (const bool escapes : {false, true}) {
    SCOPED_TRACE(escapes);
    arrow::BinaryBuilder builder;
    std::string text = std::string("{\"a\":\"") + (escapes ? "\\n" : "x") + std::string(kLength, 'x') + "\"}";
    ASSERT_TRUE(builder.Append(text).ok());
    std::string().swap(text);
    const auto input = builder.Finish().ValueOrDie();
    if (!resetPeakMemory()) GTEST_SKIP() << "the peak cannot be reset";
    const int64_t before = memoryOf("VmRSS");
    const auto rows = parser.parse(*input);
    const int64_t grown = memoryOf("VmHWM") - before;
    const auto& column =
        static_cast<const arrow::StringArray&>(*static_cast<const arrow::StructArray&>(*rows).field(0));
    EXPECT_EQ(column.value_length(0), kLength + 1);
    // The column; where the string has escapes its decoded text too, which grows by doubling.
    EXPECT_LT(grown, escapes ? kLength * 7 / 2 : kLength * 5 / 4);
  }
}

TEST(JsonParser, KeepsTheZoneOfTheOption) {
  const JsonParser parser(parseSchemaDdl("a timestamp"),
                          JsonOptions::parse({{"timeZone", "America/New_York"}}));
  EXPECT_EQ(parseOne(parser, R"({"a":"2024-05-06"})", true), "{2024-05-06 04:00:00}");
  EXPECT_EQ(parseOne(parser, R"({"a":"2024-03-10 02:30:00"})", true), "{2024-03-10 07:30:00}");
}

// The kafka-to-delta fixture: what Spark made of the values that its producer sent.
TEST(JsonParser, ReadsTheKafkaFixtureAsSparkDid) {
  const std::string folder = std::string(THALWEG_SHARED_DIR) + "/testdata/spark-checkpoints/kafka-to-delta/";
  std::ifstream input(folder + "input.jsonl");
  if (!input) GTEST_SKIP() << "no shared test data";
  std::map<std::pair<int, int>, nlohmann::json> expected;
  std::string line;
  std::ifstream answers(folder + "expected.jsonl");
  while (std::getline(answers, line)) {
    auto row = nlohmann::json::parse(line);
    expected[{row["kafka_partition"], row["kafka_offset"]}] = row;
  }
  const JsonParser parser(
      parseSchemaDdl("user_id string, product_id string, action string, timestamp timestamp, price double"),
      JsonOptions::parse({}));
  int rows = 0;
  while (std::getline(input, line)) {
    const auto record = nlohmann::json::parse(line);
    const auto& row = expected.at({record["partition"], record["offset"]});
    std::string want = "{";
    for (const char* field : {"user_id", "product_id", "action", "timestamp", "price"}) {
      if (want.size() > 1) want += ", ";
      if (!row.contains(field)) {
        want += "null";
      } else if (std::string_view(field) == "timestamp") {
        appendTimestamp(parseTimestamp(row[field].get<std::string>(), TimeZone()).value(), &want);
      } else if (row[field].is_string()) {
        want += row[field].get<std::string>();
      } else {
        appendDouble(row[field].get<double>(), &want);
      }
    }
    want += "}";
    const bool absent = record["value"].is_null();
    if (!absent) {
      const auto text = record["value"].get<std::string>();
      const auto got = parseOne(parser, text, true);
      EXPECT_EQ(got == "NULL" ? "{null, null, null, null, null}" : got, want) << text;
      EXPECT_EQ(parseOne(parser, text, false), got) << text;
    }
    ++rows;
  }
  EXPECT_EQ(rows, 122);
}

// Records of many shapes, changed at random: both parsers give the same answer for each.
TEST(JsonParserProperty, FastAndExactParsersAgree) {
  const std::vector<std::string> schemas = {
      "user_id string, product_id string, action string, timestamp timestamp, price double, _corrupt_record "
      "string",
      "a int, b bigint, c smallint, d tinyint, e float, f double, g decimal(10,2), h boolean, i date, j "
      "timestamp_ntz, k binary",
      "s struct<x:int,y:string,z:struct<w:double>>, l array<int>, ls array<struct<x:int,y:string>>, m "
      "map<string,int>, mm "
      "map<string,array<string>>, q string",
      "array<struct<x:int,y:string>>", "map<string,double>"};
  const std::vector<std::string> seeds = {
      R"({"user_id":"u1234","product_id":"p12","action":"view","timestamp":"2026-01-15T10:00:01.123Z","price":12.5})",
      R"({"action":"add \"x\" \u00e9\ud83d\ude00","price":-1.5e3,"user_id":null,"other":[1,2,{"z":[]}],"timestamp":1714979289})",
      R"({"a":1,"b":-9223372036854775808,"c":32767,"d":-128,"e":1.5,"f":1e400,"g":123.455,"h":true,"i":"2024-02-29","j":"2024-05-06T07:08:09","k":"AQID"})",
      R"({"a":2147483648,"b":"5","g":"12.345","f":"NaN","d":200,"e":-0,"f":-0,"i":"100","k":"AQ=="})",
      R"({"s":{"x":1,"y":"ü","z":{"w":2.5}},"l":[1,2,null],"ls":[{"x":1},{"y":"b"},null],"m":{"k":1,"j":null},"mm":{"k":["a","b"]},"q":{"a":[1,2.50]}})",
      R"({ "q" : "a\\b\/" , "l" : [ ] , "m" : { } , "s" : { } , "ls" : [ { } ] })",
      R"([{"x":1,"y":"a"},{"x":2}])",
      R"({"k":1.5,"j":-0.0,"k":2})",
      "{\"q\":\"\xff\",\"user_id\":\"\xc3\xa9\xe2\x82\xac\"}"};
  const std::string_view alphabet = "{}[]:,\"'\\ \t\n0123456789-+.eEtrufalsn/\x01\x7f\xc3\xa9\xff";
  std::mt19937 random(20260115);
  auto pick = [&random](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  for (const std::string& schema : schemas) {
    const JsonParser parser(schemaOf(schema), JsonOptions::parse({}));
    auto fast = parser.newWorker();
    auto exact = parser.newWorker();
    exact->disableFastParser();
    std::vector<std::string> records;
    for (int i = 0; i < 6000; ++i) {
      std::string record = seeds[pick(seeds.size())];
      const size_t changes = pick(4);
      for (size_t c = 0; c < changes && !record.empty(); ++c) {
        const size_t at = pick(record.size());
        switch (pick(5)) {
          case 0:
            record.erase(at, 1 + pick(3));
            break;
          case 1:
            record.insert(at, 1, alphabet[pick(alphabet.size())]);
            break;
          case 2:
            record[at] = alphabet[pick(alphabet.size())];
            break;
          case 3: {
            const std::string part = record.substr(at, 1 + pick(20));
            record.insert(pick(record.size()), part);
            break;
          }
          default:
            record.resize(at);
        }
      }
      records.push_back(std::move(record));
    }
    const std::vector<std::string_view> views(records.begin(), records.end());
    const auto texts = binaries(views);
    const auto left = fast->parse(*texts);
    const auto right = exact->parse(*texts);
    ASSERT_TRUE(left->Validate().ok());
    for (int64_t row = 0; row < left->length(); ++row) {
      ASSERT_EQ(print(*left, row), print(*right, row)) << schema << "\n" << records[static_cast<size_t>(row)];
    }
    EXPECT_GT(fast->fastRows(), 150) << schema;
  }
}

}  // namespace
}  // namespace thalweg
