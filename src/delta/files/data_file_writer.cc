#include "delta/files/data_file_writer.h"

#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>

#include "common/error.h"
#include "common/fault_points.h"
#include "common/logging.h"
#include "common/options.h"
#include "common/uuid.h"
#include "delta/files/column_mapping.h"
#include "delta/files/partition_values.h"
#include "delta/files/random_folder.h"
#include "delta/snapshot/feed_columns.h"
#include "formats/parquet/parquet_codec.h"
#include "storage/uri_path.h"

namespace thalweg::delta {
namespace {

using Compression = ParquetWriteOptions::Compression;

Compression codecOf(const Metadata& metadata) {
  const auto it = metadata.configuration.find("delta.parquet.compression.codec");
  if (it == metadata.configuration.end()) return Compression::Snappy;
  if (const auto codec = parquetCompression(it->second)) return *codec;
  throw unsupported("writing Parquet files with the codec '" + it->second + "'");
}

bool isPartitionColumn(const DataFileLayout& layout, const StructField& logical) {
  const auto& names = layout.partitionColumns;
  return std::any_of(names.begin(), names.end(),
                     [&](const auto& name) { return equalsIgnoreCase(name, logical.name); });
}

// The table's columns, by logical or physical name, that are (not) stored in files.
std::vector<StructField> columnsOf(const DataFileLayout& layout, const Schema& names, bool partition) {
  std::vector<StructField> columns;
  for (size_t i = 0; i < layout.schema->fields().size(); ++i) {
    if (isPartitionColumn(layout, layout.schema->fields()[i]) == partition)
      columns.push_back(names.fields()[i]);
  }
  return columns;
}

// Of stored columns, those that statistics are kept of.
SchemaPtr tableColumnsOf(const DataFileLayout& layout, std::vector<StructField> stored) {
  if (layout.hasRowIds) stored.resize(stored.size() - 2);
  return DataType::structOf(std::move(stored));
}

std::string folderOf(const DataFileLayout& layout, const PartitionValues& values) {
  if (layout.randomFolderLength > 0) return randomFolder(layout.randomFolderLength) + "/";
  return partitionFolder(storedPartitionColumns(layout), values);
}

}  // namespace

DataFileLayout makeDataFileLayout(Location table, const Metadata& metadata, const Protocol& protocol) {
  DataFileLayout layout;
  layout.table = std::move(table);
  layout.schema = metadata.schema();
  const ColumnMappingMode mode = columnMappingMode(metadata);
  layout.physicalSchema = physicalSchema(layout.schema, mode);
  layout.partitionColumns = metadata.partitionColumns;
  layout.randomFolderLength = randomFolderLength(metadata);
  layout.statistics = statisticsOptions(metadata, protocol);
  layout.parquet.compression = codecOf(metadata);
  return layout;
}

std::vector<StructField> storedPartitionColumns(const DataFileLayout& layout) {
  std::vector<StructField> columns;
  for (const std::string& name : layout.partitionColumns) {
    const int index = layout.schema->fieldIndex(name, /*caseSensitive=*/false);
    THALWEG_ASSERT(index >= 0);
    columns.push_back(layout.physicalSchema->fields()[static_cast<size_t>(index)]);
  }
  return columns;
}

DataFileLayout changeFileLayout(const DataFileLayout& dataFiles) {
  DataFileLayout layout = dataFiles;
  const auto withType = [](const SchemaPtr& schema) {
    std::vector<StructField> fields = schema->fields();
    fields.push_back({std::string(kChangeTypeColumn), DataType::primitive(TypeId::String)});
    return DataType::structOf(std::move(fields));
  };
  layout.schema = withType(dataFiles.schema);
  layout.physicalSchema = withType(dataFiles.physicalSchema);
  layout.isChangeData = true;
  layout.statistics.columns.reset();
  layout.statistics.numIndexedColumns = 0;
  return layout;
}

void removeUncommitted(const Location& table, const std::vector<AddFile>& files) noexcept {
  for (const AddFile& file : files) {
    try {
      table.fileSystem->remove(table.path + "/" + decodeUriPath(file.path));
    } catch (...) {
      // Whoever gives up a write has an error of its own to tell.
    }
  }
}

DataFileWriter::DataFileWriter(const DataFileLayout& layout, PartitionValues values, int taskId)
    : layout_(layout), values_(std::move(values)) {
  passFaultPoint(FaultPoint::DataFileBefore);
  // Spark's own two spellings.
  const char* separator = layout.partitionColumns.empty() && !layout.isChangeData ? "-" : ".";
  relativePath_ = (layout.isChangeData ? "_change_data/" : "") + folderOf(layout, values_) +
                  fmt::format("{}-{:05}-{}{}c000{}", layout.isChangeData ? "cdc" : "part", taskId,
                              randomUuid(), separator, parquetExtension(layout.parquet.compression));
  path_ = layout.table.path + "/" + relativePath_;
  const auto stored = columnsOf(layout, *layout.physicalSchema, /*partition=*/false);
  const auto logical = columnsOf(layout, *layout.schema, /*partition=*/false);
  statistics_ = std::make_unique<FileStatistics>(*tableColumnsOf(layout, stored),
                                                 *tableColumnsOf(layout, logical), layout.statistics);
  writer_ = std::make_unique<ParquetFileWriter>(layout.table.fileSystem->openOutput(path_), path_,
                                                DataType::structOf(stored), layout.parquet);
}

DataFileWriter::~DataFileWriter() {
  if (closed_) return;
  try {
    writer_.reset();
    layout_.table.fileSystem->remove(path_);
  } catch (const std::exception& error) {
    logWarn("An unfinished data file stays behind until the table is vacuumed: {}", error.what());
  } catch (...) {
    logWarn("An unfinished data file stays behind until the table is vacuumed: {}", path_);
  }
}

void DataFileWriter::write(const arrow::RecordBatch& rows) {
  writer_->write(rows);
  numRows_ += rows.num_rows();
  passFaultPoint(FaultPoint::DataFileDuring);
}

std::string DataFileWriter::logPath() const {
  return encodeUriPath(relativePath_);
}

int64_t DataFileWriter::bufferedBytes() const {
  return writer_->bufferedBytes();
}

std::optional<AddFile> DataFileWriter::close() {
  THALWEG_ASSERT(!closed_);
  if (numRows_ == 0) return std::nullopt;
  AddFile file;
  file.size = writer_->close();
  file.stats = statistics_->toJson(numRows_, writer_->statistics());
  writer_.reset();
  const auto info = layout_.table.fileSystem->stat(path_);
  if (!info)
    throw Error("STORAGE_FAILURE", "The data file " + path_ + " vanished after it was written.",
                {{"path", path_}});
  closed_ = true;
  file.path = logPath();
  file.partitionValues = values_;
  file.modificationTime = info->modificationTimeMs;
  passFaultPoint(FaultPoint::DataFileAfter);
  return file;
}

}  // namespace thalweg::delta
