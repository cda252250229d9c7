// What a file format brings to the file source: how the bytes of one file become rows.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>

#include "connector/registry.h"
#include "types/data_type.h"

namespace thalweg {

// The rows of one file; one thread. Ends with null.
class FileRecords {
 public:
  virtual ~FileRecords() = default;
  virtual std::shared_ptr<arrow::RecordBatch> next(int64_t maxRows) = 0;
};

// Opens files for one set of columns; any thread, kept alive by its readers' owner.
using RecordOpener =
    std::function<std::unique_ptr<FileRecords>(std::shared_ptr<arrow::io::InputStream>, arrow::MemoryPool*)>;

// A format with its options; immutable, any thread.
class RecordFormat {
 public:
  virtual ~RecordFormat() = default;
  // Readers of the columns `columns` (indexes into `dataSchema`, ascending; none: row counts only).
  virtual RecordOpener prepare(const SchemaPtr& dataSchema, const std::vector<int>& columns) const = 0;
};

// A file format as the doors of file_source.h know it.
struct FileFormatDefinition {
  std::string name;
  // The schema of every file where the format knows it by itself ("text"); null otherwise.
  SchemaPtr fixedSchema;
  // Checks the format's own options and the schema of the files' own columns; throws as load() does.
  std::function<std::shared_ptr<const RecordFormat>(const ReadDefinition&, const SchemaPtr& dataSchema)> make;
};

}  // namespace thalweg
