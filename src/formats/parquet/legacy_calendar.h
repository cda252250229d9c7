// Dates and timestamps of files whose writer counted days in the hybrid calendar: Julian before 1582-10-15.
// Spark 2 and Hive wrote so, later Sparks do when they are told to; the footer says it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <arrow/type_fwd.h>

#include "formats/parquet/parquet_file.h"

namespace parquet {
class ColumnDescriptor;
class FileMetaData;
class SchemaDescriptor;
}  // namespace parquet
namespace parquet::arrow {
struct SchemaField;
}

namespace thalweg {

// Days since 1970-01-01: the day that has in the proleptic Gregorian calendar the date which the given day
// has in the hybrid one. Dates that only the Julian calendar has (29 February 1500) are the next day.
int64_t gregorianDay(int64_t hybridDay);

// How one file's days are to be read. Immutable.
class LegacyCalendar {
 public:
  // By Spark's rule: of files with its version those before 3.0.0 (INT96: 3.1.0), or with its key
  // org.apache.spark.legacyDateTime (legacyINT96), are legacy; what is said of those without counts for the
  // others. Nothing where every day is what it says: such files cost nothing more. `path` is for errors.
  static std::optional<LegacyCalendar> of(const parquet::FileMetaData& footer, AncientTimes datetimes,
                                          AncientTimes int96, const std::string& path);

  // Whether a leaf column's bounds in the footer may be other days than its values as they are read.
  bool changes(const parquet::ColumnDescriptor& leaf) const;

  // A column as the library reads it, with its dates and its timestamps that stand for instants in our
  // calendar, nested ones too; timestamps without a zone stay. Values before the calendars met throw Error
  // INCONSISTENT_BEHAVIOR_CROSS_VERSION.READ_ANCIENT_DATETIME where that was asked for, unsupported() for
  // instants before 1900 that were counted in a region's local time: the rules of those times differ between
  // Java's calendars.
  std::shared_ptr<arrow::Array> rebase(const std::shared_ptr<arrow::Array>& column,
                                       const parquet::arrow::SchemaField& field,
                                       const parquet::SchemaDescriptor& schema,
                                       arrow::MemoryPool* pool) const;

 private:
  LegacyCalendar(AncientTimes datetimes, AncientTimes int96, std::string zone, std::string path);

  AncientTimes modeOf(const parquet::ColumnDescriptor& leaf) const;
  std::shared_ptr<arrow::Array> rebaseLeaf(const std::shared_ptr<arrow::Array>& column,
                                           const parquet::ColumnDescriptor& leaf,
                                           arrow::MemoryPool* pool) const;
  template <typename Value>
  std::shared_ptr<arrow::Array> rebaseValues(const arrow::Array& column, Value unitsPerDay,
                                             const parquet::ColumnDescriptor& leaf,
                                             arrow::MemoryPool* pool) const;
  [[noreturn]] void refuse(const parquet::ColumnDescriptor& leaf) const;

  AncientTimes datetimes_;
  AncientTimes int96_;
  std::string zone_;  // of the writer; timestamps were counted in its local time
  std::string path_;
};

}  // namespace thalweg
