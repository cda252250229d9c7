// from_json: a column of JSON texts into a column of a schema.
//
//   JsonParser parser(schema, JsonOptions::parse(options, sessionZone));
//   std::shared_ptr<arrow::Array> rows = parser.parse(*values);          // any thread; or, keeping memory
//   between batches: auto worker = parser.newWorker();  rows = worker->parse(*values);    // one worker a
//   thread
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <arrow/memory_pool.h>
#include <arrow/type_fwd.h>

#include "formats/json/json_options.h"
#include "types/data_type.h"

namespace thalweg {

// Which rows of a batch count, ascending; none: all.
using JsonSelection = std::optional<std::span<const int32_t>>;

// A schema and options prepared once. Immutable: any number of threads may use it at a time.
class JsonParser {
 public:
  // `schema` is a struct, array or map. Nullability is not enforced: the result's type is resultType().
  // Throws Error: PARSE_MODE_UNSUPPORTED for DROPMALFORMED, INVALID_CORRUPT_RECORD_TYPE where the column for
  // corrupt records is no string, pattern errors of DateTimePattern, unsupported() for types that cannot be
  // read yet (variant, intervals).
  JsonParser(DataTypePtr schema, JsonOptions options);
  ~JsonParser();

  // The schema with every part nullable.
  const DataTypePtr& resultType() const;

  // A thread's own state: buffers and the shape of the last record. Must not outlive the parser.
  class Worker {
   public:
    Worker(const JsonParser& parser, arrow::MemoryPool* pool);
    ~Worker();
    // `texts` is a utf8, large utf8, binary or large binary array (slices too). The result has a row for each
    // of its rows: null for null and blank texts and for rows outside the selection. In FAILFAST mode throws
    // MALFORMED_RECORD_IN_PARSING.… for the first malformed row of the selection.
    std::shared_ptr<arrow::Array> parse(const arrow::Array& texts,
                                        const JsonSelection& selection = std::nullopt);

    // Rows of all calls that the fast parser took, and that it left to the exact one.
    int64_t fastRows() const;
    int64_t exactRows() const;
    // For tests: every row goes to the exact parser.
    void disableFastParser();

   private:
    struct State;
    std::unique_ptr<State> state_;
  };
  std::unique_ptr<Worker> newWorker(arrow::MemoryPool* pool = arrow::default_memory_pool()) const;

  // With a worker of its own.
  std::shared_ptr<arrow::Array> parse(const arrow::Array& texts,
                                      const JsonSelection& selection = std::nullopt) const;

 private:
  struct Plan;
  std::unique_ptr<const Plan> plan_;
};

}  // namespace thalweg
