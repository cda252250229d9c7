// Delta's file statistics (numRecords, minValues, maxValues, nullCount), gathered while a file is written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "delta/actions/actions.h"
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

// Used by one thread.
class StatisticsCollector {
 public:
  // `schema` has the names that the statistics use (physical ones), in the order of the table;
  // `logicalSchema`, of the same shape, those that options name.
  StatisticsCollector(SchemaPtr schema, const Schema& logicalSchema, StatisticsOptions options);
  ~StatisticsCollector();

  // Columns in the schema's order and Arrow types.
  void add(const arrow::RecordBatch& rows);

  // The JSON text. Bounds that have no exact text (invalid UTF-8, years beyond 9999) are left out.
  std::string toJson() const;

  class Column;

 private:
  SchemaPtr schema_;
  StatisticsOptions options_;
  int64_t numRecords_ = 0;
  std::vector<std::unique_ptr<Column>> columns_;  // null: not indexed
};

// The longest front of a text with at most `units` UTF-16 units that splits no character; the text itself
// where it is shorter. Null where that front is invalid UTF-8.
std::optional<std::string> truncateMinimum(std::string_view text, int64_t units);
// A text not longer than about twice `units` that is not less than any text with this front, by bytes; null
// where there is none.
std::optional<std::string> truncateMaximum(std::string_view text, int64_t units);

}  // namespace thalweg::delta
