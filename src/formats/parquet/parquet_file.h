// Parquet files as Arrow batches of Spark's types, in and out. Single-threaded: the engine brings its own
// threads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <arrow/type_fwd.h>

#include "storage/file_system.h"
#include "types/data_type.h"

namespace thalweg {

// Key of a field's metadata that carries its Parquet field_id, as Spark has it.
inline constexpr const char* kParquetFieldIdKey = "parquet.field.id";

// The field_id in a field's metadata, or nothing.
std::optional<int32_t> parquetFieldId(const StructField& field);

// A whole file in memory in Arrow's own types, timestamps in microseconds: for checkpoints and small files.
// `columns` are names or dotted paths ("add", "add.path"), each with all that lies below it; absent ones are
// left out; empty: everything. Throws Error PATH_NOT_FOUND, or FAILED_READ_FILE.NO_HINT naming the file where
// it is no readable Parquet file.
std::shared_ptr<arrow::Table> readParquetTable(FileSystem& fileSystem, const std::string& path,
                                               const std::vector<std::string>& columns = {});

// What the types of a file are, where Spark has settings for it.
struct ParquetSchemaRules {
  bool nanosAsLong = false;  // spark.sql.legacy.parquet.nanosAsLong: timestamps in nanoseconds are BIGINT
  bool timestampNtz = true;  // spark.sql.parquet.inferTimestampNTZ.enabled; false: all are TIMESTAMP
};

// The Spark schema of a file: from Spark's own row metadata where the file has it, else from the Parquet
// types, all of it nullable (INT96 is a timestamp, unsigned integers are the next larger type; what has no
// meaning in the file is a plain number: columns of nothing but nulls, durations). Throws Error
// PARQUET_TYPE_ILLEGAL for nanoseconds and half floats, UNSUPPORTED_TIME_TYPE for times of day,
// UNSUPPORTED_DATATYPE for other types that Spark has no equal of, and as readParquetTable.
SchemaPtr readParquetSchema(FileSystem& fileSystem, const std::string& path,
                            const ParquetSchemaRules& rules = {});

// What a row group's statistics say of one column. Null scalars where the file says nothing.
struct ParquetColumnBounds {
  std::shared_ptr<arrow::Scalar> min;
  std::shared_ptr<arrow::Scalar> max;
  std::optional<int64_t> nullCount;
};

struct ParquetRowGroup {
  int64_t numRows = 0;
  // By the wanted schema's names; flat columns that the file has statistics for. Bounds of floating-point
  // columns are left out: footers drop NaN.
  std::map<std::string, ParquetColumnBounds> columns;
};

// What dates before 1582-10-15 and instants before 1900 mean in files whose footer names no version of Spark:
// Spark's settings datetimeRebaseModeInRead and int96RebaseModeInRead. Where it names one, the footer counts.
enum class AncientTimes {
  Corrected,  // what they say
  Exception,  // Error INCONSISTENT_BEHAVIOR_CROSS_VERSION.READ_ANCIENT_DATETIME where there are any
  Legacy,     // days of the calendar that Spark 2 and Hive counted in, Julian before 1582-10-15
};

struct ParquetReadOptions {
  enum class ColumnMatching {
    ExactName,
    IgnoreCase,  // Error FAILED_READ_FILE.NO_HINT where a file has two columns of a wanted name
    FieldId,     // by kParquetFieldIdKey in the wanted fields' metadata, fields without it by exact name
  };
  ColumnMatching matching = ColumnMatching::ExactName;
  int64_t batchRows = 65536;
  // Batches of about so many bytes, by what the footer says of the rows; 0: whatever they come to.
  int64_t batchBytes = 0;
  // False: the row group's rows are left out (row indexes still count them). Called once a row group, in
  // order.
  std::function<bool(const ParquetRowGroup&)> keepRowGroup;
  AncientTimes datetimes = AncientTimes::Corrected;  // of dates and 64-bit timestamps
  AncientTimes int96 = AncientTimes::Corrected;      // of 96-bit timestamps
  arrow::MemoryPool* memoryPool = nullptr;           // null: Arrow's default
};

struct ParquetBatch {
  std::shared_ptr<arrow::RecordBatch> rows;
  int64_t firstRowIndex = 0;  // position of its first row in the file, from 0, pruned row groups counted
};

// Streams a file's rows in a wanted schema: columns that the file lacks (nested ones too) are null, others
// are brought to the wanted type where that loses nothing (wider numbers, decimals of as many digits before
// the point and behind it, timestamps in milliseconds and INT96 to microseconds, date to timestamp_ntz) or
// where the wanted type is the stored number's (dates as INT and BIGINT, timestamps as BIGINT in the file's
// unit); any other difference of type throws Error
// FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH. Dates and timestamps of the legacy calendar are brought
// to ours (legacy_calendar.h). Used by one thread. Memory: the pages being decoded and one batch.
class ParquetFileReader {
 public:
  ParquetFileReader(FileSystem& fileSystem, std::string path, SchemaPtr wanted,
                    ParquetReadOptions options = {});
  ~ParquetFileReader();

  int64_t numRows() const;
  // Null rows at the end. Batches never span row groups. Without wanted columns, batches have only a row
  // count.
  ParquetBatch next();

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

struct ParquetWriteOptions {
  enum class Compression { Snappy, Zstd, Gzip, Uncompressed };
  Compression compression = Compression::Snappy;
  // A row group ends at whichever comes first; the bytes are those held in memory for it.
  int64_t rowGroupRows = 1 << 20;
  int64_t rowGroupBytes = 32 << 20;
  std::map<std::string, std::string> keyValues = {};  // more footer metadata
};

// The least and the greatest value of a column, or nothing where there is none: int64_t for integers, dates,
// timestamps (microseconds) and booleans, double for both floating-point types, __int128 for decimals
// (unscaled), std::string for texts and bytes, in unsigned order of bytes.
struct ParquetBounds {
  using Value = std::variant<std::monostate, int64_t, double, __int128, std::string>;
  Value min;
  Value max;
  bool hasNan = false;  // NaN is no bound
};

// What was written to a column.
struct ParquetColumnStatistics {
  int64_t nullCount = 0;                         // members of null structs counted; 0 of a struct itself
  ParquetBounds bounds;                          // of columns of single values
  std::vector<ParquetColumnStatistics> members;  // of a struct, in order
};

// Writes one file as Spark would: root "spark_schema", three-level lists, INT64 microsecond timestamps,
// decimals as integers where they fit, every column optional, Spark's row metadata in the footer, field ids
// where the fields' metadata have them. Used by one thread. Memory: one row group, at most about
// rowGroupBytes + 4 MB. Failures throw Error STORAGE_FAILURE naming the path; void, variant and interval
// columns throw unsupported().
class ParquetFileWriter {
 public:
  ParquetFileWriter(std::shared_ptr<arrow::io::OutputStream> stream, std::string path, SchemaPtr schema,
                    ParquetWriteOptions options = {});
  // Without close() the stream is aborted.
  ~ParquetFileWriter();

  // Columns in the schema's order and Arrow types; field names and nullability of nested types may differ.
  void write(const arrow::RecordBatch& rows);
  // Writes the footer and closes the stream: durable on return. Returns the file's size in bytes.
  int64_t close();

  int64_t numRows() const;
  // Bytes held for the row group in hand.
  int64_t bufferedBytes() const;
  // Bytes that went into the stream so far.
  int64_t writtenBytes() const;
  // Of all rows written, after close(): a column each, in the schema's order. They cost nothing beyond the
  // footer's.
  std::vector<ParquetColumnStatistics> statistics() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace thalweg
