#include "sinks/files/parquet_output.h"

#include <algorithm>

#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>

#include "common/error.h"
#include "common/option_choice.h"
#include "formats/parquet/parquet_codec.h"
#include "formats/parquet/parquet_file.h"

namespace thalweg {
namespace {

class ParquetOutput final : public RecordOutput {
 public:
  ParquetOutput(const Location& file, const SchemaPtr& schema, const ParquetWriteOptions& options)
      : writer_(file.fileSystem->openOutput(file.path), file.path, schema, options) {}
  void write(const arrow::RecordBatch& rows) override { writer_.write(rows); }
  int64_t bufferedBytes() const override { return writer_.bufferedBytes(); }
  int64_t close() override { return writer_.close(); }

 private:
  ParquetFileWriter writer_;
};

class ParquetOutputFormat final : public RecordOutputFormat {
 public:
  ParquetOutputFormat(SchemaPtr schema, ParquetWriteOptions options)
      : schema_(std::move(schema)), options_(std::move(options)) {}
  std::string extension() const override { return std::string(parquetExtension(options_.compression)); }
  std::unique_ptr<RecordOutput> open(const Location& file) const override {
    return std::make_unique<ParquetOutput>(file, schema_, options_);
  }

 private:
  SchemaPtr schema_;
  ParquetWriteOptions options_;
};

ParquetWriteOptions::Compression codecOf(const Options& options) {
  const std::string name = options.getOr(
      firstGiven(options, {"compression", "parquet.compression", "spark.sql.parquet.compression.codec"}),
      "snappy");
  if (const auto codec = parquetCompression(name)) return *codec;
  throw Error("CODEC_NOT_AVAILABLE.WITH_AVAILABLE_CODECS_SUGGESTION",
              "Parquet files are not written with the codec " + name + ": use snappy, zstd, gzip or none.",
              {{"codecName", name}, {"availableCodecs", "none, uncompressed, snappy, gzip, zstd"}});
}

bool holdsCalendarInterval(const DataType& type) {
  switch (type.id()) {
    case TypeId::CalendarInterval:
      return true;
    case TypeId::Array:
      return holdsCalendarInterval(*type.element());
    case TypeId::Map:
      return holdsCalendarInterval(*type.key()) || holdsCalendarInterval(*type.value());
    case TypeId::Struct:
      return std::any_of(type.fields().begin(), type.fields().end(),
                         [](const StructField& field) { return holdsCalendarInterval(*field.type); });
    default:
      return false;
  }
}

// Other types that are not written yet are named when the first file is opened.
void checkColumns(const Schema& schema) {
  for (const StructField& field : schema.fields()) {
    if (!holdsCalendarInterval(*field.type)) continue;
    throw Error("UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE",
                "Parquet files cannot hold the column `" + field.name + "` of type " +
                    field.type->sqlString() + ": cast it, or leave it out.",
                {{"columnName", "`" + field.name + "`"},
                 {"columnType", "\"" + field.type->sqlString() + "\""},
                 {"format", "Parquet"}});
  }
}

}  // namespace

FileOutputDefinition parquetFileOutput() {
  FileOutputDefinition definition;
  definition.name = "parquet";
  definition.make = [](const WriteDefinition& write, const SchemaPtr& dataSchema) {
    ParquetWriteOptions options;
    options.compression = codecOf(write.options);
    checkColumns(*dataSchema);
    return std::make_shared<const ParquetOutputFormat>(dataSchema, options);
  };
  return definition;
}

}  // namespace thalweg
