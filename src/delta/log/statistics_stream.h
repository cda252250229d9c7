// The statistics of files in one Parquet file of a checkpoint, add after add.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <arrow/type_fwd.h>

#include "formats/parquet/column_stream.h"
#include "storage/file_system.h"

namespace thalweg::delta {

// Statistics as JSON text, built from `stats_parsed` for rows that have none of their own. For one that looks
// at rising rows, some of them or all. Throws Error where the file cannot be read or has other columns than a
// checkpoint, DELTA_STATE_RECOVER_ERROR where it is another by now than the one whose rows are asked for.
// Used by one thread; memory is a batch of rows.
class ParsedStatistics {
 public:
  ParsedStatistics(FileSystem& fileSystem, const std::string& path);
  ~ParsedStatistics();

  // Of a row of the file, from 0, that adds `addedPath`; nullopt where it has none.
  std::optional<std::string> at(int64_t row, std::string_view addedPath);

 private:
  struct Batch;

  std::string path_;
  ParquetColumnStream stream_;
  std::unique_ptr<Batch> batch_;
};

// As ParsedStatistics, of all adds of the file.
class StatisticsStream {
 public:
  StatisticsStream(FileSystem& fileSystem, std::string path);
  ~StatisticsStream();

  // Goes to the first add, then to the next one. False: there is none.
  bool next();

  // Of the add: its row of the file, the path as in the log, and its statistics, if any; until next().
  int64_t row() const;
  std::string_view addedPath() const;
  std::optional<std::string_view> statistics();

 private:
  struct Batch;

  FileSystem& fileSystem_;
  std::string path_;
  ParquetColumnStream stream_;
  std::unique_ptr<Batch> batch_;
  std::optional<ParsedStatistics> parsed_;
  std::optional<std::string> parsedText_;
};

}  // namespace thalweg::delta
