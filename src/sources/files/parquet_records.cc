#include "sources/files/parquet_records.h"

#include <arrow/api.h>
#include <arrow/util/byte_size.h>

#include "common/error.h"
#include "common/logging.h"
#include "common/option_choice.h"
#include "delta/scan/file_skipping.h"
#include "formats/parquet/parquet_file.h"
#include "sources/files/merged_schema.h"
#include "storage/file_uri.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

class ParquetRecords final : public FileRecords {
 public:
  ParquetRecords(const Location& file, SchemaPtr wanted, ParquetReadOptions options)
      : reader_(*file.fileSystem, file.path, std::move(wanted), std::move(options)) {}

  std::shared_ptr<arrow::RecordBatch> next(int64_t maxRows) override {
    if (!held_.rows) {
      held_ = reader_.next();
      if (!held_.rows) return nullptr;
      rowBytes_ = static_cast<double>(arrow::util::ReferencedBufferSize(*held_.rows).ValueOr(0)) /
                  static_cast<double>(held_.rows->num_rows());
    }
    firstRow_ = held_.firstRowIndex;
    bytes_ += rowBytes_ * static_cast<double>(std::min(maxRows, held_.rows->num_rows()));
    if (held_.rows->num_rows() <= maxRows) return std::exchange(held_.rows, nullptr);
    auto part = held_.rows->Slice(0, maxRows);
    held_ = {held_.rows->Slice(maxRows), held_.firstRowIndex + maxRows};
    return part;
  }
  int64_t bytesTaken() const override { return static_cast<int64_t>(bytes_); }
  int64_t firstRowIndex() const override { return firstRow_; }

 private:
  ParquetFileReader reader_;
  ParquetBatch held_;    // what was read and not handed out yet
  double rowBytes_ = 0;  // of one of its rows
  double bytes_ = 0;     // of the rows handed out
  int64_t firstRow_ = 0;
};

// A bound counts where it has the order of the column that is read: files may have other units or kinds.
delta::OrderedValue boundFor(const std::shared_ptr<arrow::Scalar>& bound, const arrow::DataType& column) {
  if (!bound || !bound->is_valid) return {};
  const arrow::DataType& type = *bound->type;
  const bool integers = arrow::is_signed_integer(type.id()) && arrow::is_signed_integer(column.id());
  if (!integers && type.id() != column.id()) return {};
  const auto isMicros = [](const arrow::DataType& time) {
    return static_cast<const arrow::TimestampType&>(time).unit() == arrow::TimeUnit::MICRO;
  };
  if (type.id() == arrow::Type::TIMESTAMP && !isMicros(type)) return {};
  return delta::orderedValue(*bound);
}

class ParquetRecordFormat final : public RecordFormat {
 public:
  using ColumnMatching = ParquetReadOptions::ColumnMatching;

  ParquetRecordFormat(ColumnMatching matching, AncientTimes datetimes, AncientTimes int96)
      : matching_(matching), datetimes_(datetimes), int96_(int96) {}

  RecordOpener prepare(const RecordRequest& request) const override {
    std::vector<StructField> fields;
    for (const int column : request.columns)
      fields.push_back(request.dataSchema->fields()[static_cast<size_t>(column)]);
    const SchemaPtr wanted = DataType::structOf(std::move(fields));
    ParquetReadOptions options;
    options.matching = matching_;
    options.batchRows = request.maxBatchRows;
    options.batchBytes = request.maxBatchBytes;
    options.datetimes = datetimes_;
    options.int96 = int96_;
    options.memoryPool = request.memoryPool;
    auto filter = std::make_shared<const delta::FileFilter>(*wanted, *wanted, std::vector<std::string>{},
                                                            request.predicates);
    if (!filter->empty()) {
      options.keepRowGroup = [filter, wanted](const ParquetRowGroup& group) {
        return filter->mayMatch([&](const std::string& column) { return boundsOf(group, *wanted, column); });
      };
    }
    return [wanted, options](const Location& file) -> std::unique_ptr<FileRecords> {
      return std::make_unique<ParquetRecords>(file, wanted, options);
    };
  }

 private:
  static delta::ValueBounds boundsOf(const ParquetRowGroup& group, const Schema& wanted,
                                     const std::string& column) {
    const auto it = group.columns.find(column);
    if (it == group.columns.end()) return {};
    const auto type = toArrowType(*wanted.fields()[static_cast<size_t>(wanted.fieldIndex(column))].type);
    return {boundFor(it->second.min, *type), boundFor(it->second.max, *type), it->second.nullCount,
            group.numRows};
  }

  ColumnMatching matching_;
  AncientTimes datetimes_;
  AncientTimes int96_;
};

// Null where the file may be passed over.
SchemaPtr footerSchema(const Location& file, const ParquetSchemaRules& rules, bool ignoreCorrupt) {
  try {
    return readParquetSchema(*file.fileSystem, file.path, rules);
  } catch (const Error& error) {
    const std::string& condition = error.condition();
    if (!condition.starts_with("FAILED_READ_FILE") && !condition.starts_with("INVALID_SCHEMA")) throw;
    const std::string uri = fileUri(*file.fileSystem, file.path);
    if (ignoreCorrupt) {
      logWarn("the file {} is passed over: {}", uri, error.text());
      return nullptr;
    }
    throw Error("FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER",
                "The schema of the file " + uri + " cannot be read: " + error.text(), {{"path", uri}})
        .withCause(error);
  }
}

AncientTimes ancientTimesOf(const ReadDefinition& read, const std::string& option) {
  const std::string setting = "spark.sql.parquet." + option + "InRead";
  const auto mode = read.options.get(firstGiven(read.options, {option, setting}));
  if (!mode || *mode == "CORRECTED") return AncientTimes::Corrected;
  if (*mode == "EXCEPTION") return AncientTimes::Exception;
  if (*mode == "LEGACY") return AncientTimes::Legacy;
  throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION",
              "The option '" + option + "' is CORRECTED, EXCEPTION or LEGACY, not '" + *mode + "'.",
              {{"option", option}});
}

bool isCaseSensitive(const ReadDefinition& read) {
  return read.options.getBool("spark.sql.caseSensitive", false);
}

// The first file's, or all files' together.
SchemaPtr inferSchema(const ReadDefinition& read, const std::vector<Location>& files) {
  const bool merge =
      read.options.getBool(firstGiven(read.options, {"mergeSchema", "spark.sql.parquet.mergeSchema"}), false);
  const bool ignoreCorrupt = read.options.getBool(
      firstGiven(read.options, {"ignoreCorruptFiles", "spark.sql.files.ignoreCorruptFiles"}), false);
  ParquetSchemaRules rules;
  rules.nanosAsLong = read.options.getBool("spark.sql.legacy.parquet.nanosAsLong", rules.nanosAsLong);
  rules.timestampNtz =
      read.options.getBool("spark.sql.parquet.inferTimestampNTZ.enabled", rules.timestampNtz);
  SchemaPtr merged;
  for (const Location& file : files) {
    const SchemaPtr schema = footerSchema(file, rules, ignoreCorrupt);
    if (!merge) return schema;
    if (schema) merged = merged ? mergedSchema(merged, schema, isCaseSensitive(read)) : schema;
  }
  return merged;
}

}  // namespace

FileFormatDefinition parquetFileFormat() {
  FileFormatDefinition definition;
  definition.name = "parquet";
  definition.make = [](const ReadDefinition& read, const SchemaPtr& dataSchema) {
    toArrowSchema(*dataSchema);  // throws for types that cannot be read
    return std::make_shared<const ParquetRecordFormat>(
        isCaseSensitive(read) ? ParquetReadOptions::ColumnMatching::ExactName
                              : ParquetReadOptions::ColumnMatching::IgnoreCase,
        ancientTimesOf(read, "datetimeRebaseMode"), ancientTimesOf(read, "int96RebaseMode"));
  };
  definition.infer = inferSchema;
  definition.hasRowIndex = true;
  return definition;
}

}  // namespace thalweg
