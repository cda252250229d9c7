// JSON files: one record a line, or one value a file (multiLine), as record batches.
//
//   JsonFileFormat format(schema, JsonOptions::parse(options, sessionZone));   // once a query
//   JsonFileReader reader(format, stream);                                     // once a file
//   while (auto batch = reader.next(64 * 1024)) …
#pragma once

#include <memory>

#include <arrow/io/type_fwd.h>
#include <arrow/memory_pool.h>
#include <arrow/type_fwd.h>

#include "formats/json/json_options.h"
#include "types/data_type.h"

namespace thalweg {

struct JsonPlan;

// A schema and options prepared for files; immutable, safe on any thread. The constructor throws what
// JsonParser's throws, but takes the mode DROPMALFORMED.
class JsonFileFormat {
 public:
  JsonFileFormat(SchemaPtr schema, JsonOptions options);
  ~JsonFileFormat();
  // Every part nullable.
  const SchemaPtr& schema() const;
  const JsonPlan& plan() const { return *plan_; }

 private:
  std::unique_ptr<const JsonPlan> plan_;
};

// Reads one file from its beginning; one thread at a time. The format must outlive it.
class JsonFileReader {
 public:
  JsonFileReader(const JsonFileFormat& format, std::shared_ptr<arrow::io::InputStream> stream,
                 arrow::MemoryPool* pool = arrow::default_memory_pool());
  ~JsonFileReader();

  // The next batch; null at the end. About `maxRows` rows: a root array's rows stay together. Blank lines
  // give no row, a root array a row an element; malformed records follow the mode (FAILFAST throws
  // MALFORMED_RECORD_IN_PARSING.…). Throws Error FAILED_READ_FILE.NO_HINT where the stream fails,
  // OUT_OF_MEMORY for a record that passes 1 GB.
  std::shared_ptr<arrow::RecordBatch> next(int64_t maxRows);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace thalweg
