#include "sinks/files/file_task_output.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "columnar/value_groups.h"
#include "common/error.h"
#include "common/fault_points.h"
#include "common/logging.h"
#include "delta/files/partition_values.h"
#include "storage/partition_folders.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"
#include "types/text/time_text.h"

namespace thalweg {
namespace {

constexpr size_t kMaxOpenFiles = 64;
constexpr int64_t kMaxBufferedBytes = 128 << 20;

// As a cast to text, times in the zone; nothing for null and for the empty text.
std::optional<std::string> folderText(const arrow::Array& column, int64_t row, const DataType& type,
                                      const TimeZone& zone) {
  const bool isTime = type.id() == TypeId::Timestamp || type.id() == TypeId::TimestampNtz;
  if (!isTime || column.IsNull(row)) return delta::partitionValueText(column, row, type);
  const int64_t micros = static_cast<const arrow::TimestampArray&>(column).Value(row);
  std::string text;
  appendTimestamp(type.id() == TypeId::Timestamp ? zone.toLocalMicros(micros) : micros, &text);
  return text;
}

}  // namespace

std::string WrittenFile::folder() const {
  const size_t slash = relativePath.rfind('/');
  return slash == std::string::npos ? "" : relativePath.substr(0, slash);
}

void removeFiles(const Location& folder, const std::vector<WrittenFile>& files) noexcept {
  for (const WrittenFile& file : files) {
    try {
      folder.fileSystem->remove(folder.path + "/" + file.relativePath);
    } catch (const std::exception& error) {
      logWarn("A file of a write that failed stays behind in {}: {}: {}", folder.path, file.relativePath,
              error.what());
    }
  }
}

FileTaskOutput::FileTaskOutput(std::shared_ptr<const FileLayout> layout, Location folder, int taskId)
    : layout_(std::move(layout)), folder_(std::move(folder)), taskId_(taskId) {}

FileTaskOutput::~FileTaskOutput() {
  if (closed_) return;
  for (auto& [folder, file] : open_) {
    file.output.reset();
    finished_.push_back({file.relativePath, 0, 0});
  }
  removeFiles(folder_, finished_);
}

std::string FileTaskOutput::folderOf(const arrow::RecordBatch& rows, int64_t row) const {
  std::string folder;
  for (const int column : layout_->partitionColumns) {
    const StructField& field = layout_->schema->fields()[static_cast<size_t>(column)];
    const auto text = folderText(*rows.column(column), row, *field.type, layout_->zone);
    folder += (folder.empty() ? "" : "/") + delta::escapeForFolder(field.name) + "=";
    folder += text ? delta::escapeForFolder(*text) : std::string(kNullPartition);
  }
  return folder;
}

FileTaskOutput::OpenFile& FileTaskOutput::openIn(const std::string& folder) {
  OpenFile& file = open_[folder];
  if (file.output) return file;
  passFaultPoint(FaultPoint::DataFileBefore);
  // Spark's own two spellings.
  const char* separator = layout_->partitionColumns.empty() ? "-" : ".";
  file.relativePath = (folder.empty() ? "" : folder + "/") +
                      fmt::format("part-{:05}-{}{}c{:03}{}", taskId_, layout_->writeId, separator,
                                  nextNumber_[folder]++, layout_->format->extension());
  file.output = layout_->format->open({folder_.fileSystem, folder_.path + "/" + file.relativePath});
  return file;
}

void FileTaskOutput::write(const std::shared_ptr<arrow::RecordBatch>& rows) {
  if (rows->num_rows() == 0) return;
  const auto stored = valueOrThrow(rows->SelectColumns(layout_->dataColumns));
  for (const ValueGroup& group : groupByValues(*rows, layout_->partitionColumns))
    writeInto(folderOf(*rows, group.firstRow), *rowsOfGroup(stored, group));
}

void FileTaskOutput::writeInto(const std::string& folder, const arrow::RecordBatch& rows) {
  const int64_t bound = layout_->maxRecordsPerFile;
  for (int64_t start = 0; start < rows.num_rows();) {
    OpenFile& file = openIn(folder);
    int64_t count = rows.num_rows() - start;
    if (bound > 0) count = std::min(count, bound - file.numRows);
    file.output->write(*rows.Slice(start, count));
    passFaultPoint(FaultPoint::DataFileDuring);
    file.numRows += count;
    start += count;
    if (bound > 0 && file.numRows >= bound) closeFile(folder);
  }
  keepBounds();
}

void FileTaskOutput::closeFile(const std::string& folder) {
  OpenFile& file = open_.at(folder);
  WrittenFile written{file.relativePath, file.output->close(), 0};
  const std::string path = folder_.path + "/" + written.relativePath;
  const auto info = folder_.fileSystem->stat(path);
  if (!info)
    throw Error("STORAGE_FAILURE", "The file " + path + " vanished after it was written.", {{"path", path}});
  written.modificationTimeMs = info->modificationTimeMs;
  open_.erase(folder);
  finished_.push_back(std::move(written));
  passFaultPoint(FaultPoint::DataFileAfter);
}

void FileTaskOutput::keepBounds() {
  while (open_.size() > 1) {
    int64_t total = 0;
    auto largest = open_.begin();
    for (auto it = open_.begin(); it != open_.end(); ++it) {
      const int64_t bytes = it->second.output->bufferedBytes();
      total += bytes;
      if (bytes > largest->second.output->bufferedBytes()) largest = it;
    }
    if (total <= kMaxBufferedBytes && open_.size() <= kMaxOpenFiles) return;
    closeFile(std::string(largest->first));
  }
}

void FileTaskOutput::writeEmptyFile() {
  THALWEG_ASSERT(layout_->partitionColumns.empty());
  openIn("");
}

std::vector<WrittenFile> FileTaskOutput::close() {
  while (!open_.empty()) closeFile(std::string(open_.begin()->first));
  closed_ = true;
  return std::move(finished_);
}

}  // namespace thalweg
