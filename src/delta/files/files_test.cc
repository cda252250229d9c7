#include <cmath>

#include <arrow/api.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/testing/condition_of.h"
#include "delta/files/partition_values.h"
#include "delta/files/schema_enforcement.h"
#include "delta/files/statistics.h"
#include "delta/files/value_text.h"
#include "formats/parquet/parquet_file.h"
#include "storage/file_system.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"
#include "types/ddl.h"

namespace thalweg::delta {
namespace {

TEST(ValueText, IsJavas) {
  EXPECT_EQ(javaText(1.0), "1.0");
  EXPECT_EQ(javaText(1e10), "1.0E10");
  EXPECT_EQ(javaText(1234567.5), "1234567.5");
  EXPECT_EQ(javaText(12345678.0), "1.2345678E7");
  EXPECT_EQ(javaText(0.001), "0.001");
  EXPECT_EQ(javaText(0.00012), "1.2E-4");
  EXPECT_EQ(javaText(-0.0), "-0.0");
  EXPECT_EQ(javaText(100.0), "100.0");
  EXPECT_EQ(javaText(std::nan("")), "NaN");
  EXPECT_EQ(javaText(0.1f), "0.1");
}

TEST(ValueText, ReadsAndWritesTimes) {
  EXPECT_EQ(dateText(0), "1970-01-01");
  EXPECT_EQ(parseDateText("2000-03-01"), 11017);
  EXPECT_FALSE(parseDateText("2000-02-30"));
  EXPECT_EQ(timestampText(-1, 'T', 3), "1969-12-31T23:59:59.999");
  EXPECT_EQ(timestampText(1'500'000, ' ', -1), "1970-01-01 00:00:01.5");
  EXPECT_EQ(parseTimestampText("1970-01-01T01:00:00.25+01:00"), 250'000);
  EXPECT_EQ(parseTimestampText("1970-01-02 00:00:00"), 86'400'000'000);
  EXPECT_FALSE(parseTimestampText("1970-01-02 25:00:00"));
  EXPECT_FALSE(dateText(10'000'000));
}

// The table of the protocol's partition value serialisation, and Hive's escapes.
TEST(PartitionValues, HaveTheProtocolsTexts) {
  const auto text = [](const std::shared_ptr<arrow::Scalar>& scalar, const DataTypePtr& type) {
    return partitionValueText(**arrow::MakeArrayFromScalar(*scalar, 1), 0, *type);
  };
  EXPECT_EQ(text(std::make_shared<arrow::TimestampScalar>(1704103200123456, toArrowType(*timestampType())),
                 timestampType()),
            "2024-01-01T10:00:00.123456Z");
  EXPECT_EQ(text(std::make_shared<arrow::TimestampScalar>(1704103200000000, toArrowType(*timestampNtzType())),
                 timestampNtzType()),
            "2024-01-01 10:00:00");
  EXPECT_EQ(text(std::make_shared<arrow::DoubleScalar>(-0.0), doubleType()), "-0.0");
  EXPECT_EQ(text(std::make_shared<arrow::BooleanScalar>(true), booleanType()), "true");
  EXPECT_EQ(text(std::make_shared<arrow::StringScalar>(""), stringType()), std::nullopt);
  const auto decimal = DataType::decimal(5, 2);
  EXPECT_EQ(
      text(std::make_shared<arrow::Decimal128Scalar>(arrow::Decimal128(150), toArrowType(*decimal)), decimal),
      "1.50");
  for (const auto& [value, type] :
       std::vector<std::pair<std::string, DataTypePtr>>{{"1.50", decimal},
                                                        {"-7", byteType()},
                                                        {"2024-02-29", dateType()},
                                                        {"NaN", doubleType()},
                                                        {"1.0E10", doubleType()},
                                                        {"false", booleanType()},
                                                        {"x y", stringType()}}) {
    EXPECT_EQ(text(parsePartitionValue(value, *type, "c", TimeZone()), type), value);
  }
  // Spark 4.2 with Delta 4.4, in the log and in the folder's name.
  for (const auto& [bytes, shown] :
       std::vector<std::pair<std::string, std::string>>{{"\xc3\xa9", "\xc3\xa9"},
                                                        {"\xff"
                                                         "A",
                                                         "\xef\xbf\xbd"
                                                         "A"},
                                                        {"\xe2\x82"
                                                         "A\xff",
                                                         "\xef\xbf\xbd"
                                                         "A\xef\xbf\xbd"},
                                                        {"\xed\xa0\x80", "\xef\xbf\xbd"},
                                                        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"}}) {
    EXPECT_EQ(text(parsePartitionValue(bytes, *binaryType(), "c", TimeZone()), binaryType()), shown);
    EXPECT_EQ(text(parsePartitionValue(bytes, *stringType(), "c", TimeZone()), stringType()), shown);
  }
  EXPECT_FALSE(parsePartitionValue(std::nullopt, *intType(), "c", TimeZone())->is_valid);
  // What stood in the log before the types of these columns were widened.
  EXPECT_EQ(canonicalPartitionValues(
                {{"d", "1"}, {"c", "2.5"}, {"t", "2020-01-02"}, {"s", ""}},
                parseSchemaDdl("d DOUBLE, c DECIMAL(10,3), t TIMESTAMP_NTZ, s STRING, n INT")->fields(),
                TimeZone()),
            (PartitionValues{{"d", "1.0"},
                             {"c", "2.500"},
                             {"t", "2020-01-02 00:00:00"},
                             {"s", std::nullopt},
                             {"n", std::nullopt}}));
  // As Spark 4.2 with Delta 4.4 reads "": itself as string and binary, null as anything else.
  EXPECT_FALSE(parsePartitionValue("", *intType(), "c", TimeZone())->is_valid);
  EXPECT_FALSE(parsePartitionValue("", *timestampType(), "c", TimeZone())->is_valid);
  EXPECT_EQ(parsePartitionValue("", *stringType(), "c", TimeZone())->ToString(), "");
  EXPECT_TRUE(parsePartitionValue("", *stringType(), "c", TimeZone())->is_valid);
  EXPECT_TRUE(parsePartitionValue("", *binaryType(), "c", TimeZone())->is_valid);
  EXPECT_EQ(conditionOf([] { parsePartitionValue("12x", *intType(), "c", TimeZone()); }),
            "DELTA_STATE_RECOVER_ERROR");
  EXPECT_EQ(conditionOf([] { parsePartitionValue("300", *byteType(), "c", TimeZone()); }),
            "DELTA_STATE_RECOVER_ERROR");
}

// Asked of Spark 4.2 with Delta 4.4 in a session of Europe/Berlin: unix_micros of a partition column over
// these texts of the log. 02:30 on the last Sunday of March is no time there, and in October it comes twice.
TEST(PartitionValues, TimestampsWithoutAZoneAreOfTheSessions) {
  const TimeZone berlin = TimeZone::parse("Europe/Berlin");
  for (const auto& [text, micros] :
       std::vector<std::pair<std::string, int64_t>>{{"2024-01-01 10:00:00", 1704099600000000},
                                                    {"2024-01-01T09:00:00.000000Z", 1704099600000000},
                                                    {"2024-01-01T10:00:00.000000Z", 1704103200000000},
                                                    {"2024-07-01 10:00:00.5", 1719820800500000},
                                                    {"2024-01-01 10:00:00+03:00", 1704092400000000},
                                                    {"2024-03-31 02:30:00", 1711848600000000},
                                                    {"2024-10-27 02:30:00", 1729989000000000}}) {
    const auto value = parsePartitionValue(text, *timestampType(), "c", berlin);
    EXPECT_EQ(static_cast<const arrow::TimestampScalar&>(*value).value, micros) << text;
  }
  const auto local = parsePartitionValue("2024-01-01 10:00:00", *timestampNtzType(), "c", berlin);
  EXPECT_EQ(static_cast<const arrow::TimestampScalar&>(*local).value, 1704103200000000)
      << "a wall clock stays one";
  const std::vector<StructField> column = {{"t", timestampType()}};
  EXPECT_EQ(canonicalPartitionValues({{"t", "2024-01-01 10:00:00"}}, column, berlin),
            canonicalPartitionValues({{"t", "2024-01-01T09:00:00.000000Z"}}, column, berlin));
}

TEST(PartitionValues, MakeHivesFolders) {
  EXPECT_EQ(partitionFolder({{"a b", stringType()}, {"t", timestampType()}, {"n", intType()}},
                            {{"a b", "x/y:z"}, {"t", "2024-01-01T10:00:00.000000Z"}, {"n", std::nullopt}}),
            "a b=x%2Fy%3Az/t=2024-01-01 10%3A00%3A00/n=__HIVE_DEFAULT_PARTITION__/");
  EXPECT_EQ(unescapeFolder(escapeForFolder("a%2=[{^\"#'*?\\\x01\x7F")), "a%2=[{^\"#'*?\\\x01\x7F");
}

TEST(StringBounds, AreCutByUtf16Units) {
  EXPECT_EQ(truncateMinimum("abcdef", 4), "abcd");
  EXPECT_EQ(truncateMaximum("abcd", 4), "abcd");
  EXPECT_EQ(truncateMaximum("abcdef", 4), "abcd\x7F");
  EXPECT_EQ(truncateMaximum("abcdéf", 4), "abcd\xF4\x8F\xBF\xBF");
  EXPECT_EQ(truncateMinimum("abc\xF0\x9F\x98\x80z", 4), "abc") << "a surrogate pair is not split";
  const std::string last = "\xF4\x8F\xBF\xBF";
  EXPECT_EQ(truncateMaximum("ab" + last + "cd", 2), "ab" + last + "\x7F");
  EXPECT_EQ(truncateMaximum(last + last + last + last, 2), std::nullopt);
  EXPECT_EQ(truncateMaximum("ab\xFF", 4), std::nullopt);
  EXPECT_EQ(truncateMinimum("ab\xFF", 4), std::nullopt);
}

TEST(Statistics, CountBoundsAndNulls) {
  const SchemaPtr schema =
      parseSchemaDdl("i INT, d DOUBLE, t TIMESTAMP, s STRUCT<x: BIGINT, y: STRING>, b BOOLEAN, n BIGINT");
  arrow::Int32Builder ints;
  arrow::DoubleBuilder doubles;
  arrow::TimestampBuilder times(toArrowType(*timestampType()), arrow::default_memory_pool());
  arrow::BooleanBuilder booleans;
  arrow::Int64Builder inner;
  arrow::StringBuilder text;
  ASSERT_TRUE(ints.AppendValues({5, -3}).ok() && ints.AppendNull().ok());
  ASSERT_TRUE(doubles.AppendValues({1.5, std::nan(""), -2}).ok());
  ASSERT_TRUE(times.AppendValues({-1, 1'999, 0}).ok());
  ASSERT_TRUE(booleans.AppendValues(std::vector<bool>{true, false, true}).ok());
  ASSERT_TRUE(inner.AppendValues({7, 8, 9}).ok());
  ASSERT_TRUE(text.AppendValues({"q", "p", "zz"}).ok());
  const auto members = toArrowType(*schema->fields()[3].type);
  const uint8_t validity = 0b011;  // the third struct is null, so its members are
  const auto structs = std::make_shared<arrow::StructArray>(
      members, 3, arrow::ArrayVector{*inner.Finish(), *text.Finish()},
      arrow::Buffer::FromString(std::string(1, static_cast<char>(validity))));
  const auto batch =
      arrow::RecordBatch::Make(toArrowSchema(*schema), 3,
                               {*ints.Finish(), *doubles.Finish(), *times.Finish(), structs,
                                *booleans.Finish(), *arrow::MakeArrayOfNull(arrow::int64(), 3)});
  const auto store = makeMemoryFileSystem();
  ParquetFileWriter writer(store->openOutput("/f"), "/f", schema);
  const auto before = writer.statistics();
  writer.write(*batch);
  writer.close();
  EXPECT_EQ(
      FileStatistics(*schema, *schema, {}).toJson(3, writer.statistics()),
      R"({"numRecords":3,"minValues":{"i":-3,"d":-2.0,"t":"1969-12-31T23:59:59.999Z","s":{"x":7,"y":"p"}},)"
      R"("maxValues":{"i":5,"d":"NaN","t":"1970-01-01T00:00:00.001Z","s":{"x":8,"y":"q"}},)"
      R"("nullCount":{"i":1,"d":0,"t":0,"s":{"x":1,"y":1},"b":0,"n":3}})");
  const FileStatistics two(*schema, *schema, {.numIndexedColumns = 2, .tightBounds = true});
  EXPECT_EQ(two.toJson(0, before),
            R"({"numRecords":0,"minValues":{},"maxValues":{},"nullCount":{"i":0,"d":0},"tightBounds":true})");
  StatisticsOptions named;
  const std::vector<std::string> path = {"S", "y"};
  named.columns = std::vector<std::vector<std::string>>(1, path);
  const FileStatistics one(*schema, *schema, named);
  EXPECT_EQ(nlohmann::json::parse(one.toJson(0, before))["nullCount"], (nlohmann::json{{"s", {{"y", 0}}}}));
}

TEST(SchemaEnforcement, FollowsDeltasRules) {
  const SchemaPtr table = parseSchemaDdl("a BIGINT, s STRUCT<x: INT>");
  const auto plan = [&](const char* data, WriteSchemaOptions options = {}) {
    return planWriteSchema(*table, *parseSchemaDdl(data), options);
  };
  EXPECT_EQ(plan("S STRUCT<X: INT>, A BIGINT").dataColumns, (std::vector<int>{1, 0}));
  EXPECT_EQ(plan("a BIGINT").dataColumns, (std::vector<int>{0, -1}));
  EXPECT_EQ(conditionOf([&] { plan("a BIGINT, b INT"); }), "DELTA_METADATA_MISMATCH");
  EXPECT_EQ(conditionOf([&] { plan("s STRUCT<x: INT, y: INT>"); }), "DELTA_METADATA_MISMATCH");
  EXPECT_EQ(conditionOf([&] { plan("a INT"); }), "DELTA_FAILED_TO_MERGE_FIELDS") << "no cast function";
  EXPECT_EQ(plan("a INT", {.canCast = true}).tableSchema->simpleString(), table->simpleString());
  EXPECT_EQ(conditionOf([&] { plan("a STRING", {.canCast = true}); }), "DELTA_FAILED_TO_MERGE_FIELDS");
  EXPECT_EQ(conditionOf([&] { plan("a BIGINT, A BIGINT"); }), "DELTA_DUPLICATE_COLUMNS_FOUND");
  const auto merged = plan("b INT, s STRUCT<y: STRING>", {.mergeSchema = true});
  EXPECT_TRUE(merged.schemaChanged);
  EXPECT_EQ(merged.tableSchema->simpleString(), "struct<a:bigint,s:struct<x:int,y:string>,b:int>");
  const WriteSchemaOptions widening{.mergeSchema = true, .canCast = true, .widenTypes = true};
  EXPECT_EQ(plan("a INT, s STRUCT<X: BIGINT, y: INT>", widening).tableSchema->simpleString(),
            "struct<a:bigint,s:struct<x:bigint,y:int>>");
  EXPECT_EQ(plan("s STRUCT<X: BIGINT>", widening).tableSchema->fields()[1].type->fields()[0].metadata,
            R"({"delta.typeChanges":[{"toType":"long","fromType":"integer"}]})");
  EXPECT_FALSE(plan("s STRUCT<x: DOUBLE>", widening).schemaChanged) << "another family of types";
  EXPECT_FALSE(plan("s STRUCT<x: BIGINT>", {.mergeSchema = true, .canCast = true}).schemaChanged);
  EXPECT_FALSE(plan("s STRUCT<x: BIGINT>", {.canCast = true, .widenTypes = true}).schemaChanged);
  EXPECT_EQ(conditionOf([&] {
              planWriteSchema(*parseSchemaDdl("a BIGINT NOT NULL, b INT"), *parseSchemaDdl("b INT"), {});
            }),
            "DELTA_NOT_NULL_CONSTRAINT_VIOLATED");
  EXPECT_EQ(conditionOf([&] {
              newTableSchema(*DataType::structOf({{"a b", intType()}}), {}, {});
            }),
            "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES");
  EXPECT_EQ(conditionOf([&] {
              newTableSchema(*DataType::structOf({{"a", voidType()}}), {}, {.streaming = true});
            }),
            "DELTA_NULL_SCHEMA_IN_STREAMING_WRITE");
  // Delta 4.4.
  for (const char* column :
       {"a STRUCT<>", "a STRUCT<x: INT, c: STRUCT<>>", "a ARRAY<STRUCT<>>", "a MAP<INT, STRUCT<>>"}) {
    const SchemaPtr schema = parseSchemaDdl(column);
    const std::string expected = "DELTA_CANNOT_WRITE_EMPTY_SCHEMA.STRUCT_NO_FIELDS";
    EXPECT_EQ(conditionOf([&] { newTableSchema(*schema, {}, {}); }), expected) << column;
    EXPECT_EQ(conditionOf([&] { planWriteSchema(*parseSchemaDdl("b INT"), *schema, {.mergeSchema = true}); }),
              expected)
        << column;
  }
}

TEST(SchemaEnforcement, NoNameStandsTwiceInOnePlaceAtAnyDepth) {
  const DataTypePtr once = DataType::structOf({{"x", intType()}, {"y", intType()}});
  const DataTypePtr twice = DataType::structOf({{"x", intType()}, {"X", intType()}});
  const auto check = [](const DataTypePtr& type) { return conditionOf([&] { checkNamesDiffer(*type); }); };
  EXPECT_EQ(check(DataType::structOf({{"x", once}, {"y", DataType::array(once, true)}})), "none");
  EXPECT_EQ(check(twice), "DELTA_DUPLICATE_COLUMNS_FOUND");
  EXPECT_EQ(check(DataType::structOf({{"s", twice}})), "DELTA_DUPLICATE_COLUMNS_FOUND");
  EXPECT_EQ(check(DataType::structOf({{"a", DataType::array(twice, true)}})),
            "DELTA_DUPLICATE_COLUMNS_FOUND");
  EXPECT_EQ(check(DataType::structOf({{"m", DataType::map(intType(), twice, true)}})),
            "DELTA_DUPLICATE_COLUMNS_FOUND");
}

TEST(RowAdaptation, CastsOnlyTheElementsOfItsRows) {
  const SchemaPtr table = parseSchemaDdl("a array<bigint>"), data = parseSchemaDdl("a array<int>");
  arrow::ListBuilder lists(arrow::default_memory_pool(), std::make_shared<arrow::Int32Builder>());
  auto& values = static_cast<arrow::Int32Builder&>(*lists.value_builder());
  for (const int value : {1, 2, 3}) {
    throwIfFailed(lists.Append());
    throwIfFailed(values.Append(value));
  }
  const auto rows = arrow::RecordBatch::Make(toArrowSchema(*data), 3, {valueOrThrow(lists.Finish())});
  int64_t cast = 0;
  const CastFunction counting = [&](const arrow::Array& array, const DataType&, const DataType& to) {
    cast += array.length();
    return valueOrThrow(arrow::MakeArrayOfNull(toArrowType(to), array.length()));
  };
  const auto adapted = adaptRows(*rows->Slice(1, 1), *data, {table, false, {0}}, counting);
  EXPECT_TRUE(adapted->ValidateFull().ok());
  EXPECT_EQ(cast, 1);
}

}  // namespace
}  // namespace thalweg::delta
