// Writes the rows of one task into files, one or more a partition.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "sinks/files/record_output.h"
#include "types/time_zone.h"

namespace thalweg {

// What all files of one write have in common; immutable, shared by its tasks.
struct FileLayout {
  // Of rows with this schema. Throws Error COLUMN_ALREADY_EXISTS, _LEGACY_ERROR_TEMP_1155 for a partition
  // column that is none of them, INVALID_PARTITION_COLUMN_DATA_TYPE, ALL_PARTITION_COLUMNS_NOT_ALLOWED,
  // EMPTY_SCHEMA_NOT_SUPPORTED_FOR_DATASOURCE, and those of the format.
  static FileLayout make(const FileOutputDefinition& format, const WriteDefinition& write,
                         const SchemaPtr& schema);

  SchemaPtr schema;
  std::vector<int> partitionColumns;  // in the order of the folders
  std::vector<int> dataColumns;
  TimeZone zone;                  // of times in names of folders
  int64_t maxRecordsPerFile = 0;  // 0: no bound
  std::string writeId;            // in every file's name; another one for each write
  std::shared_ptr<const RecordOutputFormat> format;
};

struct WrittenFile {
  std::string relativePath;  // decoded: "date=2026-01-01/part-….parquet"
  int64_t sizeBytes = 0;
  int64_t modificationTimeMs = 0;

  // "date=2026-01-01"; empty without partition columns.
  std::string folder() const;
};

// Used by one thread. Holds few files open: beyond the bounds the one with the most bytes in hand is closed,
// and its partition's next rows start another file. Passes the fault points of data files (DataFileBefore,
// DataFileDuring, DataFileAfter). Dropped without close() it removes its files.
class FileTaskOutput {
 public:
  FileTaskOutput(std::shared_ptr<const FileLayout> layout, Location folder, int taskId);
  ~FileTaskOutput();
  FileTaskOutput(const FileTaskOutput&) = delete;
  FileTaskOutput& operator=(const FileTaskOutput&) = delete;

  // Columns of the layout's schema.
  void write(const std::shared_ptr<arrow::RecordBatch>& rows);
  // A file without rows, from which readers learn the columns. Of layouts without partition columns.
  void writeEmptyFile();
  // Closes what is open. All files of the task, durable.
  std::vector<WrittenFile> close();

 private:
  struct OpenFile {
    std::string relativePath;
    std::unique_ptr<RecordOutput> output;
    int64_t numRows = 0;
  };
  std::string folderOf(const arrow::RecordBatch& rows, int64_t row) const;
  OpenFile& openIn(const std::string& folder);
  void writeInto(const std::string& folder, const arrow::RecordBatch& rows);
  void closeFile(const std::string& folder);
  void keepBounds();

  std::shared_ptr<const FileLayout> layout_;
  Location folder_;
  int taskId_;
  std::map<std::string, OpenFile> open_;  // by folder
  std::map<std::string, int> nextNumber_;
  std::vector<WrittenFile> finished_;
  bool closed_ = false;
};

// Removes files as far as the store lets it, and warns of those that stay: for those who give up a write and
// have an error of their own.
void removeFiles(const Location& folder, const std::vector<WrittenFile>& files) noexcept;

}  // namespace thalweg
