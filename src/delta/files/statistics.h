// Delta's file statistics (numRecords, minValues, maxValues, nullCount), from what the Parquet writer saw.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "delta/actions/actions.h"
#include "formats/parquet/parquet_file.h"
#include "types/data_type.h"

namespace thalweg::delta {

struct StatisticsOptions {
  int64_t numIndexedColumns = 32;  // leaf columns from the front, −1: all
  // Overrides the number: paths of columns, each with all that lies below.
  std::optional<std::vector<std::vector<std::string>>> columns;
  int64_t stringPrefixLength = 32;  // UTF-16 units
  bool tightBounds = false;         // written only where the table supports deletion vectors
};

// From the table's delta.dataSkipping… properties and protocol. Column names there are logical.
StatisticsOptions statisticsOptions(const Metadata& metadata, const Protocol& protocol);

// Which columns of a table's data files have statistics, and their JSON.
class FileStatistics {
 public:
  // `schema` has the names that the statistics use (physical ones), in the order of the files;
  // `logicalSchema`, of the same shape, those that options name.
  FileStatistics(const Schema& schema, const Schema& logicalSchema, StatisticsOptions options);
  ~FileStatistics();

  // The JSON text for a file of that schema, which may have more columns at its end. Bounds that have no
  // exact text (invalid UTF-8, years beyond 9999) are left out. From any thread.
  std::string toJson(int64_t numRecords, const std::vector<ParquetColumnStatistics>& written) const;

  // The columns of these statistics in checkpoints, `stats_parsed`: numRecords, minValues and maxValues of
  // the types that have bounds, nullCount, and tightBounds where they say it. Null fields, no metadata.
  DataTypePtr parsedType() const;

  class Column;

 private:
  StatisticsOptions options_;
  std::vector<std::unique_ptr<Column>> columns_;  // null: not indexed
};

// The longest front of a text with at most `units` UTF-16 units that splits no character; the text itself
// where it is shorter. Null where that front is invalid UTF-8.
std::optional<std::string> truncateMinimum(std::string_view text, int64_t units);
// A text not longer than about twice `units` that is not less than any text with this front, by bytes; null
// where there is none.
std::optional<std::string> truncateMaximum(std::string_view text, int64_t units);

}  // namespace thalweg::delta
