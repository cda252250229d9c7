// Delta Lake tables for C++ programs: open, read at any version, append, overwrite, and keep them fast.
//
// Rows come and go through the Arrow C Data Interface, so a program needs no Arrow library, and none of this
// library's version. What it reads and writes is what Spark with Delta Lake, deltalake and DuckDB do:
//
//   auto table = thalweg::DeltaTable::open("/data/events");
//   ArrowArrayStream rows;
//   table.at(7).scan(&rows);             // version 7, whatever came since
//   auto transaction = table.begin();
//   transaction.append(&batches);        // an ArrowArrayStream
//   int64_t version = transaction.commit();
//
// Every failure throws thalweg::DeltaError with Delta's own condition. Tables whose rules are SQL (CHECK
// constraints, generated columns) are read, but not written here: they need an engine that evaluates SQL.
// Link: thalweg_delta. Paths are local files' ("/data/t", "file:///data/t").
// Partition values of timestamps without a zone, which writers before 2024 logged, are taken as UTC's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

// The structures of the Arrow C Data Interface and of its streams (arrow.apache.org), which any header that
// speaks it declares under these two names.
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4
extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
}
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
extern "C" {
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};
}
#endif

namespace thalweg {
// Names of programs that use the library; the namespace keeps them apart from the library's own.
inline namespace api {

// What went wrong: Delta's condition ("DELTA_VERSION_NOT_FOUND", "DELTA_CONCURRENT_APPEND"), its SQLSTATE,
// and in what() a text that says what to do.
class DeltaError : public std::runtime_error {
 public:
  DeltaError(std::string condition, std::string sqlState, const std::string& text)
      : std::runtime_error(text), condition_(std::move(condition)), sqlState_(std::move(sqlState)) {}
  const std::string& condition() const { return condition_; }
  const std::string& sqlState() const { return sqlState_; }

 private:
  std::string condition_;
  std::string sqlState_;
};

class DeltaTransaction;

// Values of partition columns, by the columns' names in the log; none for null. As the log has them: dates as
// 2026-11-30, timestamps as 2026-11-30T12:00:00.000000Z.
using PartitionValues = std::map<std::string, std::optional<std::string>>;

// A data file of a table, as the log has it.
struct DeltaFile {
  std::string path;  // percent-encoded: below the table's folder, or a URI
  int64_t sizeInBytes = 0;
  int64_t modificationTimeMs = 0;
  PartitionValues partitionValues;
  std::optional<std::string> statistics;  // JSON: numRecords, minValues, maxValues, nullCount
  int64_t numDeletedRows = 0;             // by its deletion vector
};
using FileVisitor = std::function<void(const DeltaFile&)>;

// One version of a table. Cheap to copy: copies share the table's log, of which each version is read once. A
// table may be used from several threads, but update() by one at a time.
class DeltaTable {
 public:
  struct Creation {
    std::vector<std::string> partitionBy;
    std::map<std::string, std::string> properties;  // delta.*, and any of your own
    std::optional<std::string> description;
  };

  // The newest version. Throws DELTA_PATH_DOES_NOT_EXIST, DELTA_MISSING_DELTA_TABLE where the folder is no
  // table, DELTA_UNSUPPORTED_FEATURES_FOR_READ naming what the table needs that is not there.
  static DeltaTable open(const std::string& path);
  // Makes an empty table, as version 0. The schema is a struct's, and is released. Throws DELTA_PATH_EXISTS
  // where there is a table.
  static DeltaTable create(const std::string& path, ArrowSchema* schema, const Creation& creation);
  static DeltaTable create(const std::string& path, ArrowSchema* schema) { return create(path, schema, {}); }

  int64_t version() const;
  // Goes to the newest version, reading only the commits since, and returns it.
  int64_t update();
  // The table as it was. Throws DELTA_VERSION_NOT_FOUND, which names the versions that there are;
  // DELTA_TIMESTAMP_GREATER_THAN_COMMIT, DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION. Time is in
  // milliseconds since 1970.
  DeltaTable at(int64_t version) const;
  DeltaTable atTime(int64_t epochMs) const;

  // The caller releases it.
  void schema(ArrowSchema* out) const;
  const std::vector<std::string>& partitionColumns() const;
  const std::map<std::string, std::string>& properties() const;
  int64_t numFiles() const;
  int64_t sizeInBytes() const;
  // Rows, by the log alone; none where a file has no statistics.
  std::optional<int64_t> numRows() const;
  // The version that an application recorded with its last transaction (see
  // DeltaTransaction::setApplication).
  std::optional<int64_t> applicationVersion(const std::string& application) const;

  // This version's rows, file by file, deleted ones left out; of these columns, in this order (empty: all).
  // The caller releases the stream; it outlives the table. Throws for unknown columns; what fails later comes
  // out of the stream as EIO with its text.
  void scan(ArrowArrayStream* out, const std::vector<std::string>& columns = {}) const;

  // Calls `visit` for each of this version's data files, in no order.
  void files(const FileVisitor& visit) const;
  // One question to a table that is not opened: the files of its newest version whose partition columns have
  // these values (empty: all files), and that version. Keeps no files, and reads of a checkpoint what the
  // values leave: of a million files one partition is listed in a tenth of a second. For questions one after
  // another open the table.
  static int64_t listFiles(const std::string& path, const PartitionValues& partition,
                           const FileVisitor& visit);

  // A transaction over this version.
  DeltaTransaction begin() const;

  // What keeps a table fast. Each works on the newest version and puts one commit, or none where nothing is
  // to be done; the table then shows the newest version. Memory does not grow with the table, but for what
  // its log says of its files.

  // Merges small files into files of about `targetBytes`; in a table with clustering columns, sorts what is
  // not yet clustered by them. Others may read, append and delete meanwhile. Returns how many files became
  // fewer.
  int64_t optimize(int64_t targetBytes = int64_t{1} << 30);
  // Writes all rows anew, near to each other where their values of these columns are, so that readers who
  // filter by them skip files. Dotted paths; `back-ticks` around a name that holds a dot. Throws
  // DELTA_ZORDERING_… for columns that partition the table or have no statistics,
  // DELTA_CONCURRENT_DELETE_DELETE where others changed the files meanwhile.
  void zOrder(const std::vector<std::string>& columns, int64_t targetBytes = int64_t{1} << 30);
  // Deletes files that no version within the retention needs: earlier versions can no longer be read then.
  // Retention in hours; none: the table's own (delta.deletedFileRetentionDuration, a week). Returns how many
  // were deleted. Throws DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT for a retention below the table's own, for
  // files of writers that have not committed yet are as young.
  int64_t vacuum(std::optional<int64_t> retentionHours = std::nullopt);
  // Makes the table what it was at an earlier version, by a new version. Throws
  // DELTA_CANNOT_RESTORE_TABLE_VERSION, DELTA_FILE_NOT_FOUND where files of it were vacuumed.
  void restore(int64_t version);

 private:
  friend class DeltaTransaction;
  struct State;
  explicit DeltaTable(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

// Rows to come, published by one commit or not at all. Used by one thread. Dropped without a commit, it takes
// its files away.
class DeltaTransaction {
 public:
  ~DeltaTransaction();
  DeltaTransaction(DeltaTransaction&&) noexcept;

  // All rows of the stream, which is released. Columns are found by name, case ignored; missing ones are
  // null. Throws DELTA_METADATA_MISMATCH for a column that the table lacks, DELTA_FAILED_TO_MERGE_FIELDS for
  // a type that is not the table's, DELTA_NOT_NULL_CONSTRAINT_VIOLATED.
  void append(ArrowArrayStream* rows);
  // One batch; both are released.
  void append(ArrowArray* rows, ArrowSchema* schema);
  // The rows replace all that the table has.
  void overwrite();
  // Makes the commit exactly-once: the same application's version is recorded with the rows. Read the last
  // one with DeltaTable::applicationVersion before writing again; of two writers one gets
  // DELTA_CONCURRENT_TRANSACTION.
  void setApplication(const std::string& application, int64_t version);

  // Puts the commit into the log, on top of what others committed since, and returns its version. Throws the
  // conflict (DELTA_CONCURRENT_…, DELTA_METADATA_CHANGED) where one of them made it invalid: nothing was
  // written then.
  int64_t commit();

 private:
  friend class DeltaTable;
  struct State;
  explicit DeltaTransaction(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace api
}  // namespace thalweg
