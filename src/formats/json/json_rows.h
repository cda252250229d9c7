// What from_json and the file reader share: a schema prepared for parsing, and rows on their way into its
// columns.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "formats/json/exact_parser.h"
#include "formats/json/json_columns.h"
#include "formats/json/json_options.h"
#include "formats/json/json_schema.h"

namespace thalweg {

// Immutable; must outlive the parsers and writers made from it.
struct JsonPlan {
  // `forFiles`: a root array gives a row an element, DROPMALFORMED is taken, strings are read as Spark reads
  // files. Throws what JsonParser's constructor throws.
  JsonPlan(DataTypePtr schema, JsonOptions options, bool forFiles);

  JsonOptions options;
  DataTypePtr resultType;  // every part nullable
  int corruptIndex = -1;   // of the corrupt record column among the schema's fields
  JsonNode output;         // the whole schema
  JsonNode parsed;         // the schema without the corrupt record column
  JsonFormats formats;
};

// Appends rows to the columns of a plan's output.
class JsonRowWriter {
 public:
  JsonRowWriter(const JsonPlan& plan, arrow::MemoryPool* pool) : plan_(plan), column_(plan.output, pool) {}

  JsonColumn& column() { return column_; }
  // The column of a top-level field of plan.parsed.
  JsonColumn& field(size_t i) { return column_.child(outputIndex(i)); }

  void appendNull() { column_.appendNull(); }
  // A row with `cell`'s values (a null cell: all fields null), and `corrupt` in the corrupt record column, if
  // there is one.
  void appendRow(const JsonCell& cell, const std::optional<std::string_view>& corrupt);
  // Closes a row whose parsed fields were appended one by one.
  void closeCleanRow();
  std::shared_ptr<arrow::Array> finish();

 private:
  size_t outputIndex(size_t i) const {
    return plan_.corruptIndex >= 0 && i >= static_cast<size_t>(plan_.corruptIndex) ? i + 1 : i;
  }
  const JsonPlan& plan_;
  JsonColumn column_;
};

// FAILFAST's error for a record; `rows` are its partial rows.
Error malformedRecordError(const JsonPlan& plan, const JsonFailure& failure, std::string_view record,
                           const std::vector<JsonCell>& rows);

}  // namespace thalweg
