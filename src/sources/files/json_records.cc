#include "sources/files/json_records.h"

#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>

#include "common/error.h"
#include "formats/json/json_file_reader.h"
#include "sources/files/record_stream.h"

namespace thalweg {
namespace {

class JsonRecords final : public FileRecords {
 public:
  JsonRecords(const JsonFileFormat& format, RecordStream stream, arrow::MemoryPool* pool)
      : stored_(stream.stored), reader_(format, std::move(stream.content), pool) {}
  std::shared_ptr<arrow::RecordBatch> next(int64_t maxRows) override { return reader_.next(maxRows); }
  int64_t bytesTaken() const override { return stored_->Tell().ValueOr(0); }

 private:
  std::shared_ptr<arrow::io::InputStream> stored_;
  JsonFileReader reader_;
};

// As Spark: only the columns that a query needs are parsed, so that a fault in another column goes unseen.
class JsonRecordFormat final : public RecordFormat {
 public:
  explicit JsonRecordFormat(JsonOptions options) : options_(std::move(options)) {}

  RecordOpener prepare(const RecordRequest& request) const override {
    std::vector<StructField> fields;
    for (const int column : request.columns)
      fields.push_back(request.dataSchema->fields()[static_cast<size_t>(column)]);
    if (fields.size() == 1 && fields[0].name == options_.corruptRecordColumn) {
      throw Error(
          "UNSUPPORTED_FEATURE.QUERY_ONLY_CORRUPT_RECORD_COLUMN",
          "A query of JSON files cannot read the column for corrupt records alone: name another column too.");
    }
    auto format = std::make_shared<const JsonFileFormat>(DataType::structOf(std::move(fields)), options_);
    return [format, pool = request.memoryPool](const Location& file) -> std::unique_ptr<FileRecords> {
      return std::make_unique<JsonRecords>(*format, openRecordStream(file), pool);
    };
  }

 private:
  JsonOptions options_;
};

}  // namespace

FileFormatDefinition jsonFileFormat() {
  FileFormatDefinition definition;
  definition.name = "json";
  definition.make = [](const ReadDefinition& read,
                       const SchemaPtr& dataSchema) -> std::shared_ptr<const RecordFormat> {
    Options options = read.options;
    if (!options.has("columnNameOfCorruptRecord"))
      options.set("columnNameOfCorruptRecord", read.corruptRecordColumn);
    JsonOptions parsed = JsonOptions::parse(options, TimeZone::parse(read.timeZone));
    JsonFileFormat(dataSchema, parsed);  // throws for types that cannot be read
    return std::make_shared<JsonRecordFormat>(std::move(parsed));
  };
  return definition;
}

}  // namespace thalweg
