// The encoder against the Parquet library: what ours writes, its reader reads; what its writer says of
// values, ours says.
#include <cmath>
#include <limits>
#include <random>

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <gtest/gtest.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/statistics.h>

#include "common/error.h"
#include "formats/parquet/hybrid_runs.h"
#include "formats/parquet/parquet_file.h"
#include "formats/parquet/stored_schema.h"
#include "formats/parquet/value_dictionary.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"
#include "types/ddl.h"

namespace thalweg {
namespace {

using Batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;

// Arbitrary values of a type, fixed by the seed.
class RandomRows {
 public:
  explicit RandomRows(uint64_t seed) : random_(seed) {}

  int64_t below(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound)); }

  std::shared_ptr<arrow::DataType> type(int depth) {
    const int64_t kind = below(depth > 0 ? 19 : 15);
    switch (kind) {
      case 0:
        return arrow::boolean();
      case 1:
        return arrow::int8();
      case 2:
        return arrow::int16();
      case 3:
        return arrow::int32();
      case 4:
        return arrow::int64();
      case 5:
        return arrow::float32();
      case 6:
        return arrow::float64();
      case 7:
        return arrow::date32();
      case 8:
        return arrow::timestamp(arrow::TimeUnit::MICRO, "UTC");
      case 9:
        return arrow::timestamp(arrow::TimeUnit::MICRO);
      case 10:
        return arrow::decimal128(static_cast<int32_t>(1 + below(9)), 0);
      case 11:
        return arrow::decimal128(static_cast<int32_t>(10 + below(9)), 2);
      case 12:
        return arrow::decimal128(static_cast<int32_t>(19 + below(20)), 5);
      case 13:
        return arrow::binary();
      case 14:
        return arrow::utf8();
      case 15:
        return arrow::list(arrow::field("element", type(depth - 1)));
      case 16:
        return arrow::map(arrow::utf8(), arrow::field("value", type(depth - 1)));
      default: {
        arrow::FieldVector fields;
        for (int64_t i = 0; i < 1 + below(3); ++i)
          fields.push_back(arrow::field("f" + std::to_string(i), type(depth - 1)));
        return arrow::struct_(fields);
      }
    }
  }

  std::shared_ptr<arrow::Array> array(const std::shared_ptr<arrow::DataType>& type, int64_t rows) {
    nullsInTen_ = below(3) == 0 ? 0 : below(10);
    distinct_ = below(2) == 0 ? 5 : int64_t{1} << 40;
    const auto builder = valueOrThrow(arrow::MakeBuilder(type));
    for (int64_t i = 0; i < rows; ++i) append(*builder, *type, true);
    return valueOrThrow(builder->Finish());
  }

 private:
  void append(arrow::ArrayBuilder& builder, const arrow::DataType& type, bool nullable) {
    if (nullable && below(10) < nullsInTen_) return throwIfFailed(builder.AppendNull());
    const int64_t value = below(distinct_) - distinct_ / 3;
    switch (type.id()) {
      case arrow::Type::BOOL:
        return add<arrow::BooleanBuilder>(builder, value % 2 != 0);
      case arrow::Type::INT8:
        return add<arrow::Int8Builder>(builder, static_cast<int8_t>(value));
      case arrow::Type::INT16:
        return add<arrow::Int16Builder>(builder, static_cast<int16_t>(value));
      case arrow::Type::INT32:
        return add<arrow::Int32Builder>(builder, static_cast<int32_t>(value));
      case arrow::Type::DATE32:
        return add<arrow::Date32Builder>(builder, static_cast<int32_t>(value));
      case arrow::Type::INT64:
        return add<arrow::Int64Builder>(builder, value);
      case arrow::Type::TIMESTAMP:
        return add<arrow::TimestampBuilder>(builder, value * 1'000'003);
      case arrow::Type::FLOAT:
        return add<arrow::FloatBuilder>(builder, static_cast<float>(value) / 8);
      case arrow::Type::DOUBLE:
        return add<arrow::DoubleBuilder>(builder, static_cast<double>(value) / 8);
      case arrow::Type::DECIMAL128: {
        const int32_t precision = static_cast<const arrow::DecimalType&>(type).precision();
        arrow::Decimal128 decimal(value % 10);
        if (precision > 18) decimal = decimal * arrow::Decimal128::GetScaleMultiplier(precision - 1);
        return add<arrow::Decimal128Builder>(builder, decimal);
      }
      case arrow::Type::STRING:
        return add<arrow::StringBuilder>(builder, text(value));
      case arrow::Type::BINARY:
        return add<arrow::BinaryBuilder>(builder, text(value));
      case arrow::Type::STRUCT: {
        auto& structs = static_cast<arrow::StructBuilder&>(builder);
        throwIfFailed(structs.Append());
        for (int i = 0; i < type.num_fields(); ++i)
          append(*structs.field_builder(i), *type.field(i)->type(), true);
        return;
      }
      case arrow::Type::LIST: {
        auto& lists = static_cast<arrow::ListBuilder&>(builder);
        throwIfFailed(lists.Append());
        for (int64_t i = below(4); i > 0; --i) append(*lists.value_builder(), *type.field(0)->type(), true);
        return;
      }
      default: {
        auto& maps = static_cast<arrow::MapBuilder&>(builder);
        const auto& map = static_cast<const arrow::MapType&>(type);
        throwIfFailed(maps.Append());
        for (int64_t i = below(3); i > 0; --i) {
          append(*maps.key_builder(), *map.key_type(), false);
          append(*maps.item_builder(), *map.item_type(), true);
        }
      }
    }
  }

  template <typename Builder, typename Value>
  static void add(arrow::ArrayBuilder& builder, const Value& value) {
    throwIfFailed(static_cast<Builder&>(builder).Append(value));
  }
  // Of any length from 0, equal for equal numbers, not always UTF-8.
  static std::string text(int64_t value) {
    std::string text = std::to_string(value);
    text.resize(static_cast<size_t>(std::abs(value) % 37), value % 2 == 0 ? 'x' : '\xC3');
    return text;
  }

  std::mt19937_64 random_;
  int64_t nullsInTen_ = 0;
  int64_t distinct_ = 1;
};

std::string write(const SchemaPtr& schema, const Batches& batches, ParquetWriteOptions options = {},
                  std::vector<ParquetColumnStatistics>* statistics = nullptr) {
  const auto store = makeMemoryFileSystem();
  ParquetFileWriter writer(store->openOutput("/f"), "/f", schema, std::move(options));
  for (const auto& batch : batches) writer.write(*batch);
  writer.close();
  if (statistics) *statistics = writer.statistics();
  return store->readAll("/f");
}

std::unique_ptr<parquet::ParquetFileReader> open(const std::string& file) {
  return parquet::ParquetFileReader::Open(
      std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(file)));
}

std::shared_ptr<arrow::Table> read(const std::string& file) {
  const auto reader =
      valueOrThrow(parquet::arrow::FileReader::Make(arrow::default_memory_pool(), open(file)));
  return valueOrThrow(reader->ReadTable());
}

SchemaPtr schemaOf(const arrow::Schema& schema) {
  return fromArrowSchema(schema);
}

TEST(ParquetEncoder, WritesWhatTheLibraryReadsBack) {
  for (uint64_t seed = 0; seed < 120; ++seed) {
    RandomRows random(seed);
    arrow::FieldVector fields;
    for (int64_t i = 0; i < 1 + random.below(4); ++i)
      fields.push_back(arrow::field("c" + std::to_string(i), random.type(3)));
    const auto schema = arrow::schema(fields);
    Batches batches;
    for (int64_t i = random.below(5); i >= 0; --i) {
      const int64_t rows = random.below(seed % 10 == 0 ? 30'000 : 300);
      arrow::ArrayVector columns;
      for (const auto& field : fields) columns.push_back(random.array(field->type(), rows));
      const int64_t skipped = random.below(rows + 1);
      batches.push_back(
          arrow::RecordBatch::Make(schema, rows, columns)->Slice(skipped, random.below(rows - skipped + 1)));
    }
    ParquetWriteOptions options;
    options.compression = static_cast<ParquetWriteOptions::Compression>(random.below(3));
    if (random.below(2) == 0) options.rowGroupRows = 1 + random.below(200);
    const auto table = read(write(schemaOf(*schema), batches, options));
    ASSERT_TRUE(table->Validate().ok()) << seed;  // texts may be no UTF-8
    const auto expected =
        valueOrThrow(valueOrThrow(arrow::Table::FromRecordBatches(schema, batches))->CombineChunks());
    const auto actual = valueOrThrow(table->CombineChunks());
    ASSERT_EQ(actual->num_rows(), expected->num_rows()) << seed;
    for (int i = 0; i < schema->num_fields(); ++i) {
      ASSERT_TRUE(
          actual->column(i)->Equals(*expected->column(i), arrow::EqualOptions::Defaults().nans_equal(true)))
          << seed << " " << schema->field(i)->ToString();
    }
  }
}

// The null counts and bounds of the library's own writer, for the same rows in one row group.
TEST(ParquetEncoder, HasTheLibrarysStatistics) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    RandomRows random(seed);
    const auto type = random.type(2);
    const auto schema = arrow::schema({arrow::field("c", type)});
    const int64_t rows = random.below(200);
    const auto batch = arrow::RecordBatch::Make(schema, rows, {random.array(type, rows)});
    const auto out = valueOrThrow(arrow::io::BufferOutputStream::Create());
    const auto properties = parquet::WriterProperties::Builder().enable_store_decimal_as_integer()->build();
    throwIfFailed(parquet::arrow::WriteTable(*valueOrThrow(arrow::Table::FromRecordBatches({batch})),
                                             arrow::default_memory_pool(), out, 1 << 20, properties));
    const auto theirs = open(valueOrThrow(out->Finish())->ToString())->metadata();
    const auto ours = open(write(schemaOf(*schema), {batch}))->metadata();
    ASSERT_EQ(ours->num_row_groups(), rows > 0 ? 1 : 0);
    for (int column = 0; rows > 0 && column < ours->num_columns(); ++column) {
      const auto expected = theirs->RowGroup(0)->ColumnChunk(column)->statistics();
      const auto actual = ours->RowGroup(0)->ColumnChunk(column)->statistics();
      ASSERT_EQ(actual->null_count(), expected->null_count()) << seed << type->ToString();
      ASSERT_EQ(actual->HasMinMax(), expected->HasMinMax()) << seed << type->ToString();
      ASSERT_EQ(actual->EncodeMin(), expected->EncodeMin()) << seed << type->ToString();
      ASSERT_EQ(actual->EncodeMax(), expected->EncodeMax()) << seed << type->ToString();
    }
  }
}

std::shared_ptr<arrow::RecordBatch> doubles(const std::vector<double>& values) {
  arrow::DoubleBuilder builder;
  throwIfFailed(builder.AppendValues(values));
  return arrow::RecordBatch::Make(arrow::schema({arrow::field("c", arrow::float64())}),
                                  static_cast<int64_t>(values.size()), {valueOrThrow(builder.Finish())});
}

std::shared_ptr<arrow::RecordBatch> texts(const std::vector<std::string>& values) {
  arrow::StringBuilder builder;
  throwIfFailed(builder.AppendValues(values));
  return arrow::RecordBatch::Make(arrow::schema({arrow::field("c", arrow::utf8())}),
                                  static_cast<int64_t>(values.size()), {valueOrThrow(builder.Finish())});
}

// parquet.thrift, Statistics: NaN is no bound; a zero minimum is written -0, a zero maximum +0.
TEST(ParquetEncoder, FollowsTheFormatsRulesForFloatingPointBounds) {
  const SchemaPtr schema = parseSchemaDdl("c DOUBLE");
  const auto boundsOf = [&](const std::vector<double>& values) {
    return open(write(schema, {doubles(values)}))
        ->metadata()
        ->RowGroup(0)
        ->ColumnChunk(0)
        ->encoded_statistics();
  };
  const auto plain = [](double value) { return std::string(reinterpret_cast<const char*>(&value), 8); };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(boundsOf({0.0, 3})->min(), plain(-0.0));
  EXPECT_EQ(boundsOf({-3, -0.0})->max(), plain(0.0));
  EXPECT_EQ(boundsOf({1, nan, 2})->min(), plain(1));
  EXPECT_EQ(boundsOf({nan, 2, 1})->max(), plain(2));
  EXPECT_FALSE(boundsOf({nan})->has_min);
  std::vector<ParquetColumnStatistics> statistics;
  write(schema, {doubles({nan, 1})}, {}, &statistics);
  EXPECT_TRUE(statistics[0].bounds.hasNan);
  EXPECT_EQ(std::get<double>(statistics[0].bounds.max), 1);
}

TEST(ParquetEncoder, LeavesOutLongBoundsButTellsThem) {
  std::vector<ParquetColumnStatistics> statistics;
  const std::string longest(5000, 'z');
  const auto file =
      open(write(parseSchemaDdl("c STRING"), {texts({longest, "\xC3\xA9", "a"})}, {}, &statistics));
  const auto footer = file->metadata()->RowGroup(0)->ColumnChunk(0)->encoded_statistics();
  EXPECT_EQ(footer->min(), "a");
  EXPECT_EQ(footer->max(), "\xC3\xA9") << "bytes are compared as unsigned";
  EXPECT_EQ(std::get<std::string>(statistics[0].bounds.min), "a");
  const auto cut = open(write(parseSchemaDdl("c STRING"), {texts({longest, "a"})}, {}, &statistics));
  EXPECT_FALSE(cut->metadata()->RowGroup(0)->ColumnChunk(0)->encoded_statistics()->has_max);
  EXPECT_EQ(std::get<std::string>(statistics[0].bounds.max), longest);
}

TEST(ParquetEncoder, GoesOnPlainWhereTheDictionaryIsFull) {
  std::vector<std::string> values;
  for (int i = 0; i < 150'000; ++i) values.push_back("value " + std::to_string(i / 2));
  const auto batch = texts(values);
  const std::string file = write(parseSchemaDdl("c STRING"), {batch});
  EXPECT_TRUE(valueOrThrow(read(file)->CombineChunks())->column(0)->chunk(0)->Equals(batch->column(0)));
  const auto metadata = open(file)->metadata();
  const auto group = metadata->RowGroup(0);
  const auto chunk = group->ColumnChunk(0);
  int dictionaryPages = 0;
  int plainPages = 0;
  for (const auto& pages : chunk->encoding_stats()) {
    if (pages.page_type != parquet::PageType::DATA_PAGE) continue;
    (pages.encoding == parquet::Encoding::PLAIN ? plainPages : dictionaryPages) += pages.count;
  }
  EXPECT_GT(dictionaryPages, 0);
  EXPECT_GT(plainPages, 0);
  EXPECT_EQ(chunk->encoded_statistics()->max(), "value 9999");
}

// 18,000 times a text of 62 kB makes a page of few codes, which stand for more than a gigabyte once the dictionary is full.
TEST(ParquetEncoder, TheDictionaryMayOverflowAfterManyLargeValues) {
  const std::string large(62'000, 'x');
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  for (int i = 0; i < 18; ++i) batches.push_back(texts(std::vector<std::string>(1000, large)));
  std::vector<std::string> others;
  for (int i = 0; i < 40; ++i) others.push_back(std::string(62'000, 'y') + std::to_string(i));
  batches.push_back(texts(others));
  const auto metadata = open(write(parseSchemaDdl("c STRING"), batches))->metadata();
  EXPECT_EQ(metadata->num_rows(), 18'040);
}

TEST(ParquetEncoder, NullsInFrontDoNotSpoilTheDictionary) {
  arrow::StringBuilder builder;
  throwIfFailed(builder.AppendNulls(30'000));
  for (int i = 0; i < 70'000; ++i) throwIfFailed(builder.Append("text number " + std::to_string(i % 5)));
  const auto column = valueOrThrow(builder.Finish());
  const auto batch = arrow::RecordBatch::Make(arrow::schema({arrow::field("c", arrow::utf8())}), column->length(), {column});
  const auto metadata = open(write(parseSchemaDdl("c STRING"), {batch}))->metadata();
  EXPECT_TRUE(metadata->RowGroup(0)->ColumnChunk(0)->has_dictionary_page());
}

TEST(ParquetEncoder, UsesNoDictionaryWhereItDoesNotPay) {
  std::vector<std::string> values;
  for (int i = 0; i < 1000; ++i) values.push_back("unique " + std::to_string(i));
  const auto batch = texts(values);
  const std::string file = write(parseSchemaDdl("c STRING"), {batch});
  const auto metadata = open(file)->metadata();
  EXPECT_FALSE(metadata->RowGroup(0)->ColumnChunk(0)->has_dictionary_page());
  EXPECT_TRUE(valueOrThrow(read(file)->CombineChunks())->column(0)->chunk(0)->Equals(batch->column(0)));
}

TEST(ParquetEncoder, WritesOneRecordOfAnySizeAsOnePage) {
  arrow::ListBuilder lists(arrow::default_memory_pool(), std::make_shared<arrow::Int32Builder>());
  auto& values = static_cast<arrow::Int32Builder&>(*lists.value_builder());
  for (const int elements : {3, 700'000, 0, 2}) {
    throwIfFailed(lists.Append());
    for (int i = 0; i < elements; ++i) throwIfFailed(values.Append(i));
  }
  const auto schema =
      arrow::schema({arrow::field("c", arrow::list(arrow::field("element", arrow::int32())))});
  const auto batch = arrow::RecordBatch::Make(schema, 4, {valueOrThrow(lists.Finish())});
  EXPECT_TRUE(valueOrThrow(read(write(schemaOf(*schema), {batch}))->CombineChunks())
                  ->column(0)
                  ->chunk(0)
                  ->Equals(batch->column(0)));
}

TEST(ParquetEncoder, EndsRowGroupsByBytes) {
  std::vector<std::string> values;
  for (int i = 0; i < 20'000; ++i)
    values.push_back(std::to_string(i) + std::string(500, static_cast<char>('a' + i % 26)));
  const auto file =
      open(write(parseSchemaDdl("c STRING"), {texts(values)},
                 {.compression = ParquetWriteOptions::Compression::Uncompressed, .rowGroupBytes = 4 << 20}));
  EXPECT_GE(file->metadata()->num_row_groups(), 2);
  EXPECT_EQ(file->metadata()->num_rows(), 20'000);
}

// What a page in hand takes is a column's; wide tables still get row groups of many pages' worth of records.
TEST(ParquetEncoder, WideTablesHaveNoTinyRowGroups) {
  constexpr int kColumns = 200;
  arrow::Int64Builder builder;
  for (int64_t i = 0; i < 40'000; ++i) throwIfFailed(builder.Append(i % 100));
  const auto column = valueOrThrow(builder.Finish());
  arrow::FieldVector fields;
  for (int i = 0; i < kColumns; ++i) fields.push_back(arrow::field("c" + std::to_string(i), arrow::int64()));
  const auto schema = arrow::schema(fields);
  const auto batch = arrow::RecordBatch::Make(schema, column->length(), arrow::ArrayVector(kColumns, column));
  EXPECT_EQ(open(write(schemaOf(*schema), {batch}))->metadata()->num_row_groups(), 1);
}

// What the columns of an ended row group hold is given back: it would end the next one early.
TEST(ParquetEncoder, LaterRowGroupsAreAsLargeAsTheFirst) {
  constexpr int kColumns = 20;
  constexpr int64_t kRows = 50'000;
  const auto type = arrow::decimal128(38, 0);
  arrow::Decimal128Builder builder(type);
  for (int64_t i = 0; i < kRows; ++i) throwIfFailed(builder.Append(arrow::Decimal128(i * 7919)));
  const auto column = valueOrThrow(builder.Finish());
  arrow::FieldVector fields;
  for (int i = 0; i < kColumns; ++i) fields.push_back(arrow::field("c" + std::to_string(i), type));
  const auto schema = arrow::schema(fields);
  const auto batch = arrow::RecordBatch::Make(schema, kRows, arrow::ArrayVector(kColumns, column));
  const ParquetWriteOptions options{.compression = ParquetWriteOptions::Compression::Uncompressed, .rowGroupBytes = 4 << 20};
  const auto metadata = open(write(schemaOf(*schema), {batch, batch}, options))->metadata();
  const int64_t first = metadata->RowGroup(0)->num_rows();
  for (int group = 1; group + 1 < metadata->num_row_groups(); ++group) {
    EXPECT_GT(2 * metadata->RowGroup(group)->num_rows(), first) << "row group " << group;
  }
}

TEST(ParquetEncoder, CountsNullsOfListsAndOfMembersOfNullStructs) {
  const SchemaPtr schema = parseSchemaDdl("s STRUCT<l: ARRAY<INT>, x: INT>");
  const auto type = storedSchema(*schema)->field(0)->type();
  const auto builder = valueOrThrow(arrow::MakeBuilder(type));
  auto& structs = static_cast<arrow::StructBuilder&>(*builder);
  throwIfFailed(structs.AppendNull());
  throwIfFailed(structs.Append());  // an empty list and a number
  throwIfFailed(static_cast<arrow::ListBuilder&>(*structs.field_builder(0)).Append());
  throwIfFailed(static_cast<arrow::Int32Builder&>(*structs.field_builder(1)).Append(7));
  throwIfFailed(structs.AppendEmptyValue());
  throwIfFailed(structs.Append());
  throwIfFailed(structs.field_builder(0)->AppendNull());
  throwIfFailed(structs.field_builder(1)->AppendNull());
  std::vector<ParquetColumnStatistics> statistics;
  const auto rows = valueOrThrow(builder->Finish());
  write(schema, {arrow::RecordBatch::Make(arrow::schema({arrow::field("s", type)}), rows->length(), {rows})},
        {}, &statistics);
  ASSERT_EQ(statistics[0].members.size(), 2u);
  EXPECT_EQ(statistics[0].members[0].nullCount, 2);
  EXPECT_EQ(statistics[0].members[1].nullCount, 2);
}

// The example of the format's Encodings.md: the numbers 0 to 7 in three bits.
TEST(HybridRuns, PackLowestBitsFirst) {
  std::vector<uint8_t> out;
  const uint32_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7};
  appendHybridRuns(numbers, 8, 3, out);
  EXPECT_EQ(out, (std::vector<uint8_t>{0x03, 0x88, 0xC6, 0xFA}));
}

TEST(HybridRuns, TurnEightEqualValuesIntoARun) {
  std::vector<uint8_t> out;
  const std::vector<uint32_t> same(200, 300);
  appendHybridRuns(same.data(), 200, 9, out);
  EXPECT_EQ(out, (std::vector<uint8_t>{0x90, 0x03, 0x2C, 0x01})) << "200 << 1 as a varint, 300 in two bytes";
  EXPECT_EQ(bitWidthOf(0), 0);
  EXPECT_EQ(bitWidthOf(255), 8);
  EXPECT_EQ(bitWidthOf(256), 9);
}

TEST(ValueDictionary, TellsValuesOfAllLengthsApart) {
  BinaryDictionary dictionary(1 << 20);
  std::vector<std::string> values;
  for (size_t length = 0; length < 40; ++length) {
    for (size_t at = 0; at <= length; ++at) {
      std::string value(length, 'a');
      if (at < length) value[at] = 'b';
      values.push_back(value);
    }
  }
  for (uint32_t i = 0; i < values.size(); ++i) EXPECT_EQ(dictionary.codeOf(values[i]), i) << values[i];
  for (uint32_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(dictionary.codeOf(values[i]), i);
    EXPECT_EQ(dictionary.value(i), values[i]);
  }
}

TEST(ValueDictionary, IsFullWhereThePageWouldPassItsBound) {
  BinaryDictionary texts(20);
  EXPECT_EQ(texts.codeOf("123456"), 0u);
  EXPECT_EQ(texts.codeOf("abcdef"), 1u);
  EXPECT_EQ(texts.codeOf(""), kNoCode) << "20 bytes are used up";
  EXPECT_EQ(texts.codeOf("123456"), 0u);
  NumberDictionary<uint64_t> numbers(16);
  EXPECT_EQ(numbers.codeOf(5), 0u);
  EXPECT_EQ(numbers.codeOf(6), 1u);
  EXPECT_EQ(numbers.codeOf(7), kNoCode);
}

}  // namespace
}  // namespace thalweg
