// Writes one data file of a table and says what it holds.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <arrow/type_fwd.h>

#include "delta/actions/actions.h"
#include "delta/files/statistics.h"
#include "formats/parquet/parquet_file.h"
#include "storage/file_system.h"
#include "types/data_type.h"

namespace thalweg::delta {

// What all data files of one write have in common.
struct DataFileLayout {
  Location table;
  SchemaPtr schema;                           // logical, of the whole table
  SchemaPtr physicalSchema;                   // same shape
  std::vector<std::string> partitionColumns;  // logical names
  bool isChangeData = false;                  // files below _change_data/, named cdc-…
  // The last two columns are none of the table's but ids of rows and their commit versions (row_tracking.h):
  // they have no statistics.
  bool hasRowIds = false;
  int randomFolderLength = 0;  // files lie in random folders (random_folder.h) instead of col=value
  StatisticsOptions statistics;
  ParquetWriteOptions parquet;
  int64_t maxRecordsPerFile = 0;         // 0: no bound
  int64_t maxBufferedBytes = 128 << 20;  // over all open files of a task
  int maxOpenFiles = 64;                 // of a task
};

// From a table's metadata: mapping, statistics, the codec of delta.parquet.compression.codec.
DataFileLayout makeDataFileLayout(Location table, const Metadata& metadata, const Protocol& protocol);

// The partition columns under the names that partition values have.
std::vector<StructField> storedPartitionColumns(const DataFileLayout& layout);

// Of the change data files beside a table's data files: its columns and, last, kChangeTypeColumn; no
// statistics.
DataFileLayout changeFileLayout(const DataFileLayout& dataFiles);

// Removes data files that no commit names, as far as the store lets it: a file that stays is no part of the
// table, and vacuum takes it.
void removeUncommitted(const Location& table, const std::vector<AddFile>& files) noexcept;

// Used by one thread. Passes the fault points DataFileBefore (nothing written), DataFileDuring (rows in hand)
// and DataFileAfter (durable, not committed). A writer dropped without close() removes its file.
class DataFileWriter {
 public:
  // `values` are by physical name; `taskId` goes into the name: part-<5 digits>-<uuid>-c000.snappy.parquet,
  // with ".c000" in partitioned tables.
  DataFileWriter(const DataFileLayout& layout, PartitionValues values, int taskId);
  ~DataFileWriter();
  DataFileWriter(const DataFileWriter&) = delete;
  DataFileWriter& operator=(const DataFileWriter&) = delete;

  // The layout's columns without the partition columns, in its order and types.
  void write(const arrow::RecordBatch& rows);
  int64_t numRows() const { return numRows_; }
  // As the add action will have it.
  std::string logPath() const;
  int64_t bufferedBytes() const;
  // Durable on return. Nothing where no row was written: such a file is removed.
  std::optional<AddFile> close();

 private:
  const DataFileLayout& layout_;  // must outlive the writer
  PartitionValues values_;
  std::string relativePath_;  // decoded
  std::string path_;
  std::unique_ptr<FileStatistics> statistics_;
  std::unique_ptr<ParquetFileWriter> writer_;
  int64_t numRows_ = 0;
  bool closed_ = false;
};

}  // namespace thalweg::delta
