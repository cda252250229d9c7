// Files in, rows out; the expected rows are what Spark 4.2 read from the same bytes.
#include <fstream>

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "formats/json/json_file_reader.h"
#include "formats/json/json_parser.h"
#include "formats/json/json_writer.h"
#include "types/ddl.h"

namespace thalweg {
namespace {

using std::string_view_literals::operator""sv;

std::vector<std::string> read(std::string_view bytes, const Options& options, int64_t maxRows = 3) {
  const JsonFileFormat format(parseSchemaDdl("a int, b string, _corrupt_record string"),
                              JsonOptions::parse(options));
  JsonFileReader reader(
      format, std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(std::string(bytes))));
  std::vector<std::string> rows;
  while (const auto batch = reader.next(maxRows)) {
    EXPECT_TRUE(batch->Validate().ok());
    for (int64_t i = 0; i < batch->num_rows(); ++i) {
      const auto& numbers = static_cast<const arrow::Int32Array&>(*batch->column(0));
      std::string row = numbers.IsNull(i) ? "-" : std::to_string(numbers.Value(i));
      for (int c = 1; c < 3; ++c) {
        const auto& texts = static_cast<const arrow::StringArray&>(*batch->column(c));
        row += "|" + (texts.IsNull(i) ? std::string("-") : texts.GetString(i));
      }
      rows.push_back(row);
    }
  }
  return rows;
}

using Rows = std::vector<std::string>;

TEST(JsonFile, LinesOfAllKinds) {
  EXPECT_EQ(
      read("{\"a\":1}\n\n  "
           "\n{\"a\":2}\r\n{\"a\":3}\r{\"a\":4}\nbad\n{\"a\":\"x\",\"b\":\"y\"}\n[{\"a\":5},{\"a\":6}]\n"
           "[{\"a\":7},3]\n[{\"a\":8},{\"a\":\"q\"}]\n[]\nnull\n5",
           {}),
      (Rows{"1|-|-", "2|-|-", "3|-|-", "4|-|-", "-|-|bad", "-|y|{\"a\":\"x\",\"b\":\"y\"}", "5|-|-", "6|-|-",
            "-|-|[{\"a\":7},3]", "8|-|[{\"a\":8},{\"a\":\"q\"}]", "-|-|[{\"a\":8},{\"a\":\"q\"}]", "-|-|null",
            "-|-|5"}));
}

TEST(JsonFile, DropMalformedKeepsWholeRecordsOnly) {
  EXPECT_EQ(read("{\"a\":1}\nbad\n{\"a\":\"x\"}\n[{\"a\":7},3]", {{"mode", "DROPMALFORMED"}}), Rows{"1|-|-"});
}

TEST(JsonFile, FailFastThrows) {
  EXPECT_THROW(read("{\"a\":1}\nbad", {{"mode", "FAILFAST"}}), Error);
}

TEST(JsonFile, StringColumnsTakeOtherValuesAsTheyAreWritten) {
  EXPECT_EQ(read("{\"b\":{\"x\" : [1, 2.50]} }\n{\"b\": 1.50 "
                 "}\n{\"b\":1e5}\n{\"b\":-0}\n{\"b\":true}\n{\"b\":[ ]}\n{\"b\":NaN}\n"
                 "{\"b\":  [1, 2 ]  , \"a\":5}\n{\"b\":{\"a\":tru}}",
                 {}),
            (Rows{"-|{\"x\" : [1, 2.50]}|-", "-|1.50|-", "-|1e5|-", "-|-0|-", "-|true|-", "-|[ ]|-",
                  "-|NaN|-", "5|[1, 2 ]|-", "-|-|{\"b\":{\"a\":tru}}"}));
}

TEST(JsonFile, BytesThatAreNotUtf8AreMalformed) {
  EXPECT_EQ(read("{\"b\":\"ok\"}\n\xef\xbb\xbf{\"a\":9}\n{\"b\":\"\xff\"}"sv, {}),
            (Rows{"-|ok|-", "9|-|-", "-|-|{\"b\":\"\xff\"}"}));
  EXPECT_EQ(read("\xef\xbb\xbf{\"a\":1}\n{\"a\":2}", {}), (Rows{"1|-|-", "2|-|-"}));
}

TEST(JsonFile, MultiLine) {
  EXPECT_EQ(read("[{\"a\":1},\n{\"a\":2,\"b\":\"x\"}]", {{"multiLine", "true"}}), (Rows{"1|-|-", "2|x|-"}));
  EXPECT_EQ(read("{\"a\":1}\n{\"a\":2}", {{"multiLine", "true"}}), Rows{"1|-|-"});
  EXPECT_EQ(read("{\"a\":\n1,\"b\":}", {{"multiLine", "true"}}), Rows{"-|-|{\"a\":\n1,\"b\":}"});
  EXPECT_EQ(read("", {{"multiLine", "true"}}), Rows{});
}

TEST(JsonFile, SeparatorsAndEncodings) {
  EXPECT_EQ(read("{\"a\":1}|{\"a\":2}|", {{"lineSep", "|"}}), (Rows{"1|-|-", "2|-|-"}));
  const auto utf16 =
      "{\0\"\0b\0\"\0:\0\"\0\xe9\0\"\0}\0\n\0{\0\"\0a\0\"\0:\0"
      "2\0}\0"sv;
  EXPECT_EQ(read(utf16, {{"encoding", "UTF-16LE"}, {"lineSep", "\n"}}), (Rows{"-|\xc3\xa9|-", "2|-|-"}));
  EXPECT_EQ(read(utf16.substr(0, 18), {}), Rows{"-|\xc3\xa9|-"});
  EXPECT_THROW(read("", {{"encoding", "UTF-16"}}), Error);
  EXPECT_THROW(read("", {{"encoding", "ISO-8859-1"}}), Error);
  EXPECT_THROW(read("", {{"encoding", "nope"}}), Error);
  EXPECT_THROW(read("", {{"lineSep", ""}}), Error);
}

TEST(JsonFile, RecordsLongerThanAChunk) {
  std::string text;
  for (int i = 0; i < 3; ++i)
    text += "{\"a\":" + std::to_string(i) + ",\"b\":\"" + std::string(1'500'000, 'x') + "\"}\r\n";
  const auto rows = read(text, {}, 1);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[2].size(), 2 + 1'500'000 + 2);
}

TEST(JsonFile, ReadsTheFilesFixtureWhole) {
  const std::string folder =
      std::string(THALWEG_SHARED_DIR) + "/testdata/spark-checkpoints/files-to-delta/in/";
  std::ifstream probe(folder + "f00.json");
  if (!probe) GTEST_SKIP() << "no shared test data";
  const JsonFileFormat format(
      parseSchemaDdl("user_id string, product_id string, action string, timestamp timestamp, price double"),
      JsonOptions::parse({}));
  int64_t rows = 0;
  for (int i = 0; i < 15; ++i) {
    std::ifstream file(folder + (i < 10 ? "f0" : "f") + std::to_string(i) + ".json");
    std::string bytes((std::istreambuf_iterator<char>(file)), {});
    JsonFileReader reader(format,
                          std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(bytes)));
    while (const auto batch = reader.next(1000)) {
      rows += batch->num_rows();
      for (const auto& column : batch->columns()) EXPECT_EQ(column->null_count(), 0);
    }
  }
  EXPECT_EQ(rows, 75);
}

// What to_json makes of the value that from_json reads.
std::string roundTrip(const char* schema, std::string_view text, const Options& options = {},
                      const char* zone = "UTC") {
  arrow::StringBuilder builder;
  EXPECT_TRUE(builder.Append(text.data(), static_cast<int32_t>(text.size())).ok());
  const bool nested =
      std::string_view(schema).starts_with("array<") || std::string_view(schema).starts_with("map<");
  const auto type = nested ? parseTypeDdl(schema) : parseSchemaDdl(schema);
  const auto values = JsonParser(type, JsonOptions::parse({})).parse(*builder.Finish().ValueOrDie());
  const JsonWriter writer(type, JsonOptions::parse(options, TimeZone::parse(zone)));
  const auto texts = writer.write(*values);
  return static_cast<const arrow::StringArray&>(*texts).GetString(0);
}

TEST(JsonWriter, WritesAsToJsonDoes) {
  EXPECT_EQ(roundTrip("a int, b string", R"({"a":1,"b":"x"})"), R"({"a":1,"b":"x"})");
  EXPECT_EQ(roundTrip("a int, b int", R"({"b":1})"), R"({"b":1})");
  EXPECT_EQ(roundTrip("a int, b int", R"({"b":1})", {{"ignoreNullFields", "false"}}), R"({"a":null,"b":1})");
  EXPECT_EQ(roundTrip("a double, b double", R"({"a":1e20,"b":1e-7})"), R"({"a":1.0E20,"b":1.0E-7})");
  EXPECT_EQ(roundTrip("a date, b timestamp", R"({"a":"2024-05-06","b":"2024-05-06 07:08:09.123"})"),
            R"({"a":"2024-05-06","b":"2024-05-06T07:08:09.123Z"})");
  EXPECT_EQ(
      roundTrip("a timestamp", R"({"a":"2024-05-06 07:08:09"})", {{"timestampFormat", "dd/MM/yyyy HH:mm"}}),
      R"({"a":"06/05/2024 07:08"})");
  EXPECT_EQ(roundTrip("t timestamp", R"({"t":"2024-11-03 06:30:00"})", {}, "America/New_York"),
            R"({"t":"2024-11-03T01:30:00.000-05:00"})");
  EXPECT_EQ(roundTrip("a array<int>, b map<string,int>", R"({"a":[1,null],"b":{"k":1}})"),
            R"({"a":[1,null],"b":{"k":1}})");
  EXPECT_EQ(roundTrip("map<string,int>", R"({"a":1,"b":null})"), R"({"a":1,"b":null})");
  EXPECT_EQ(roundTrip("array<int>", "[]"), "[]");
  EXPECT_EQ(roundTrip("b binary", R"({"b":"AP8Q"})"), R"({"b":"AP8Q"})");
  EXPECT_EQ(roundTrip("a double, b decimal(5,2)", R"({"a":NaN,"b":1.5})"), R"({"a":"NaN","b":1.50})");
  EXPECT_EQ(roundTrip("a int", R"({"a":1})", {{"pretty", "true"}}), "{\n  \"a\" : 1\n}");
}

}  // namespace
}  // namespace thalweg
