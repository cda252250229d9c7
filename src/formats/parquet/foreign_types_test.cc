// Files as pyarrow writes them, read as Spark 4.2 reads them: each expectation is its answer.
#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include "common/testing/condition_of.h"
#include "formats/parquet/parquet_file.h"
#include "types/arrow_result.h"
#include "types/ddl.h"

namespace thalweg {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;

constexpr const char* kFile = "/f";
constexpr const char* kMismatch = "FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH";

// A file of one column `c`, in which `value` stands as the type's own number.
class ForeignTypesTest : public testing::Test {
 protected:
  void write(const std::shared_ptr<arrow::Array>& values, bool int96 = false) {
    const auto out = valueOrThrow(arrow::io::BufferOutputStream::Create());
    auto arrowProperties = parquet::ArrowWriterProperties::Builder();
    arrowProperties.store_schema();
    if (int96) arrowProperties.enable_deprecated_int96_timestamps();
    const auto table = arrow::Table::Make(arrow::schema({arrow::field("c", values->type())}), {values});
    throwIfFailed(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, 1 << 20,
                                             parquet::default_writer_properties(), arrowProperties.build()));
    store_->writeAtomically(kFile, valueOrThrow(out->Finish())->ToString());
  }
  // Numbers of 32 bits and of 64 bits under any type of that layout.
  void writeInt(const TypePtr& type, int32_t value) {
    arrow::Int32Builder builder;
    throwIfFailed(builder.Append(value));
    write(valueOrThrow(valueOrThrow(builder.Finish())->View(type)));
  }
  void writeLong(const TypePtr& type, int64_t value, bool int96 = false) {
    arrow::Int64Builder builder;
    throwIfFailed(builder.Append(value));
    write(valueOrThrow(valueOrThrow(builder.Finish())->View(type)), int96);
  }
  void writeDecimal(int precision, int scale, int64_t unscaled) {
    const auto type = arrow::decimal128(precision, scale);
    write(valueOrThrow(
        arrow::MakeArrayFromScalar(arrow::Decimal128Scalar(arrow::Decimal128(unscaled), type), 1)));
  }

  std::string schema(const ParquetSchemaRules& rules = {}) {
    try {
      return readParquetSchema(*store_, kFile, rules)->fields().at(0).type->simpleString();
    } catch (const Error& error) {
      return error.condition();
    }
  }
  // The value, or the condition that reading it so fails with.
  std::string readAs(const std::string& type) {
    try {
      ParquetFileReader reader(*store_, kFile, parseSchemaDdl("c " + type));
      return valueOrThrow(reader.next().rows->column(0)->GetScalar(0))->ToString();
    } catch (const Error& error) {
      return error.condition();
    }
  }

  std::shared_ptr<FileSystem> store_ = makeMemoryFileSystem();
};

TEST_F(ForeignTypesTest, AColumnOfNullsIsThePlainNumberThatItIsStoredAs) {
  write(valueOrThrow(arrow::MakeArrayOfNull(arrow::null(), 2)));
  EXPECT_EQ(schema(), "int");
  EXPECT_EQ(readAs("INT"), "null");
  EXPECT_EQ(readAs("BIGINT"), "null");
  EXPECT_EQ(readAs("VOID"), "null");
  write(valueOrThrow(arrow::MakeArrayOfNull(arrow::list(arrow::null()), 1)));
  EXPECT_EQ(schema(), "array<int>");
}

TEST_F(ForeignTypesTest, ADurationIsANumber) {
  writeLong(arrow::duration(arrow::TimeUnit::MICRO), 1500);
  EXPECT_EQ(schema(), "bigint");
  EXPECT_EQ(readAs("BIGINT"), "1500");
  EXPECT_EQ(readAs("INT"), kMismatch);
  writeLong(arrow::duration(arrow::TimeUnit::NANO), 1500);
  EXPECT_EQ(schema(), "bigint");
  EXPECT_EQ(readAs("BIGINT"), "1500");
}

TEST_F(ForeignTypesTest, NanosecondsAreNumbersOrNothing) {
  for (const auto& type :
       {arrow::timestamp(arrow::TimeUnit::NANO), arrow::timestamp(arrow::TimeUnit::NANO, "UTC")}) {
    writeLong(type, 1500);
    EXPECT_EQ(schema(), "PARQUET_TYPE_ILLEGAL");
    EXPECT_EQ(schema({.nanosAsLong = true}), "bigint");
    EXPECT_EQ(readAs("TIMESTAMP"), kMismatch);
    EXPECT_EQ(readAs("TIMESTAMP_NTZ"), kMismatch);
    EXPECT_EQ(readAs("BIGINT"), "1500");
  }
}

TEST_F(ForeignTypesTest, TimestampsAreOfAnyZoneOrTheFilesNumbers) {
  for (const char* zone : {"", "UTC"}) {
    for (const bool millis : {true, false}) {
      writeLong(arrow::timestamp(millis ? arrow::TimeUnit::MILLI : arrow::TimeUnit::MICRO, zone), 1500);
      EXPECT_EQ(schema(), *zone ? "timestamp" : "timestamp_ntz");
      EXPECT_EQ(schema({.timestampNtz = false}), "timestamp");
      EXPECT_EQ(readAs("BIGINT"), "1500");
      const std::string shown = millis ? "1970-01-01 00:00:01.500000" : "1970-01-01 00:00:00.001500";
      EXPECT_EQ(readAs("TIMESTAMP"), shown + "Z");
      EXPECT_EQ(readAs("TIMESTAMP_NTZ"), shown);
      for (const char* type : {"DATE", "STRING", "INT", "DOUBLE", "DECIMAL(20,0)"})
        EXPECT_EQ(readAs(type), kMismatch) << type;
    }
  }
  writeLong(arrow::timestamp(arrow::TimeUnit::MICRO), 1500, /*int96=*/true);
  EXPECT_EQ(schema(), "timestamp");
  EXPECT_EQ(readAs("TIMESTAMP"), "1970-01-01 00:00:00.001500Z");
  EXPECT_EQ(readAs("BIGINT"), kMismatch);
  EXPECT_EQ(readAs("DATE"), kMismatch);
}

TEST_F(ForeignTypesTest, Dates) {
  writeInt(arrow::date32(), 18263);
  EXPECT_EQ(readAs("DATE"), "2020-01-02");
  EXPECT_EQ(readAs("TIMESTAMP_NTZ"), "2020-01-02 00:00:00.000000");
  EXPECT_EQ(readAs("TIMESTAMP"), kMismatch);
  EXPECT_EQ(readAs("INT"), "18263");
  EXPECT_EQ(readAs("BIGINT"), "18263");
  EXPECT_EQ(readAs("STRING"), kMismatch);
}

TEST_F(ForeignTypesTest, DecimalsGrowOnBothSidesOfThePoint) {
  writeDecimal(5, 2, 123);
  EXPECT_EQ(readAs("DECIMAL(5,2)"), "1.23");
  EXPECT_EQ(readAs("DECIMAL(7,2)"), "1.23");
  EXPECT_EQ(readAs("DECIMAL(7,3)"), "1.230");
  EXPECT_EQ(readAs("DECIMAL(20,4)"), "1.2300");
  for (const char* type :
       {"DECIMAL(5,1)", "DECIMAL(4,2)", "DECIMAL(5,3)", "INT", "BIGINT", "DOUBLE", "STRING"})
    EXPECT_EQ(readAs(type), kMismatch) << type;
  writeDecimal(20, 2, 123);
  EXPECT_EQ(readAs("DECIMAL(22,2)"), "1.23");
  for (const char* type : {"DECIMAL(10,2)", "DECIMAL(20,1)", "STRING"})
    EXPECT_EQ(readAs(type), kMismatch) << type;
}

TEST_F(ForeignTypesTest, Integers) {
  writeInt(arrow::int32(), 7);
  for (const char* type : {"BIGINT", "SMALLINT", "TINYINT", "DECIMAL(10,0)", "DOUBLE"})
    EXPECT_EQ(readAs(type), "7") << type;
  EXPECT_EQ(readAs("DECIMAL(11,1)"), "7.0");
  EXPECT_EQ(readAs("DATE"), "1970-01-08");
  for (const char* type : {"FLOAT", "DECIMAL(9,0)", "DECIMAL(5,0)", "TIMESTAMP", "STRING", "BOOLEAN"})
    EXPECT_EQ(readAs(type), kMismatch) << type;
  writeLong(arrow::int64(), 7);
  EXPECT_EQ(readAs("DECIMAL(20,0)"), "7");
  for (const char* type : {"INT", "DOUBLE", "FLOAT", "DECIMAL(19,0)", "DECIMAL(18,0)", "TIMESTAMP",
                           "TIMESTAMP_NTZ", "DATE", "STRING"}) {
    EXPECT_EQ(readAs(type), kMismatch) << type;
  }
  writeInt(arrow::uint32(), 7);
  EXPECT_EQ(schema(), "bigint");
  EXPECT_EQ(readAs("BIGINT"), "7");
  EXPECT_EQ(readAs("DECIMAL(20,0)"), kMismatch);
  writeLong(arrow::uint64(), 7);
  EXPECT_EQ(schema(), "decimal(20,0)");
  EXPECT_EQ(readAs("DECIMAL(20,0)"), "7");
  EXPECT_EQ(readAs("DECIMAL(22,0)"), kMismatch);
  EXPECT_EQ(readAs("DECIMAL(19,0)"), kMismatch);
}

TEST_F(ForeignTypesTest, TimesOfDayAreNumbersWhereAsked) {
  writeLong(arrow::time64(arrow::TimeUnit::NANO), 1500);
  EXPECT_EQ(schema(), "PARQUET_TYPE_ILLEGAL");
  writeLong(arrow::time64(arrow::TimeUnit::MICRO), 1500);
  EXPECT_EQ(schema(), "UNSUPPORTED_TIME_TYPE");
  EXPECT_EQ(readAs("BIGINT"), "1500");
  writeInt(arrow::time32(arrow::TimeUnit::MILLI), 1500);
  EXPECT_EQ(schema(), "PARQUET_TYPE_ILLEGAL");
  EXPECT_EQ(readAs("INT"), "1500");
  EXPECT_EQ(readAs("BIGINT"), "1500");
}

TEST_F(ForeignTypesTest, HalfFloatsAreOfNoType) {
  write(valueOrThrow(arrow::MakeArrayOfNull(arrow::float16(), 1)));
  EXPECT_EQ(schema(), "PARQUET_TYPE_ILLEGAL");
  EXPECT_EQ(readAs("FLOAT"), kMismatch);
}

}  // namespace
}  // namespace thalweg
