// What a file format brings to the file source: how the bytes of one file become rows.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "columnar/column_predicate.h"
#include "connector/registry.h"
#include "types/data_type.h"

namespace thalweg {

// The rows of one file; one thread. Ends with null.
class FileRecords {
 public:
  virtual ~FileRecords() = default;
  virtual std::shared_ptr<arrow::RecordBatch> next(int64_t maxRows) = 0;
  // What the rows so far have taken, as they count for the size of a batch.
  virtual int64_t bytesTaken() const = 0;
  // Where the last batch's first row stands among the file's rows, from 0; asked of formats that have
  // row_index.
  virtual int64_t firstRowIndex() const { return 0; }
};

// Opens files for one request; any thread, kept alive by its readers' owner.
using RecordOpener = std::function<std::unique_ptr<FileRecords>(const Location& file)>;

struct RecordRequest {
  SchemaPtr dataSchema;      // of the files' own columns
  std::vector<int> columns;  // indexes into it, ascending; none: row counts only
  // Rows of which one cannot hold may be left out; of columns of the request.
  std::vector<ColumnPredicate> predicates = {};
  int64_t maxBatchRows = 65536;
  int64_t maxBatchBytes = 8 << 20;
  arrow::MemoryPool* memoryPool = nullptr;
};

// A format with its options; immutable, any thread.
class RecordFormat {
 public:
  virtual ~RecordFormat() = default;
  virtual RecordOpener prepare(const RecordRequest& request) const = 0;
};

// A file format as the doors of file_source.h know it.
struct FileFormatDefinition {
  std::string name;
  // The schema of every file where the format knows it by itself ("text"); null otherwise.
  SchemaPtr fixedSchema = nullptr;
  // Checks the format's own options and the schema of the files' own columns; throws as load() does.
  std::function<std::shared_ptr<const RecordFormat>(const ReadDefinition&, const SchemaPtr& dataSchema)> make;
  // The files' schema by what is in them, the files in the order of their paths; null where none says
  // anything. Absent: not built, or the files do not say.
  std::function<SchemaPtr(const ReadDefinition&, const std::vector<Location>& files)> infer = nullptr;
  // The hidden column _metadata has each row's place in its file, row_index.
  bool hasRowIndex = false;
};

}  // namespace thalweg
