// One JSON record into values of a schema, with Spark's answer for everything that a record may hold.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/util/decimal.h>

#include "formats/json/json_columns.h"
#include "formats/json/json_options.h"
#include "formats/json/json_reader.h"
#include "formats/json/json_schema.h"
#include "types/text/datetime_pattern.h"

namespace thalweg {

// A value of any type on its way into a column; which member counts follows from the JsonNode. Children: a
// struct's fields, an array's elements, a map's keys and values in turn. Valid as long as the record's text.
struct JsonCell {
  bool isNull = true;
  int64_t integer = 0;  // integers, booleans, dates, timestamps
  double real = 0;
  float single = 0;
  arrow::Decimal128 decimal;
  std::string bytes;
  std::string_view borrowed;  // a long text that lies in the record as it is, in place of `bytes`
  std::vector<JsonCell> children;

  std::string_view text() const { return borrowed.empty() ? std::string_view(bytes) : borrowed; }

  void appendTo(const JsonNode& node, JsonColumn* column) const;
};

// Why a record is malformed, for FAILFAST; the condition's last part is Spark's.
struct JsonFailure {
  enum class Cause { Malformed, ArrayAsStruct, StringAsType } cause = Cause::Malformed;
  std::string fieldName = {};
  std::string fieldValue = {};
  std::string dataType = {};
};

enum class JsonOutcome {
  Blank,    // no token at all: no row
  Ok,       // rows
  Partial,  // rows in which what did not fit is null
  Bad,      // no rows
};

// What a parser needs besides the options: patterns compiled, how strings and roots are read.
struct JsonFormats {
  std::shared_ptr<const DateTimePattern> timestamp;     // null: cast grammar
  std::shared_ptr<const DateTimePattern> timestampNtz;  // null: cast grammar
  std::shared_ptr<const DateTimePattern> date;          // null: cast grammar
  bool arraysAsStructs = false;                         // a root array gives a row an element
  bool strictUtf8 = false;                              // files: a string that is not UTF-8 is malformed
  bool rawStrings = false;  // files: string columns take other values' bytes as they are
};

// Holds a reader and its memory; one a thread. The node, options and formats must outlive it.
class ExactJsonParser {
 public:
  ExactJsonParser(const JsonNode& root, const JsonOptions& options, const JsonFormats& formats)
      : root_(root), options_(options), formats_(formats), reader_(options) {}

  // Unless strictUtf8 is set, `text` must be UTF-8 (decodeLikeJava first). Replaces `*rows`.
  JsonOutcome parse(std::string_view text, std::vector<JsonCell>* rows);
  // The reason of the last outcome that was Partial or Bad.
  const JsonFailure& failure() const { return failure_; }

 private:
  enum class Result { Ok, Partial, Failed };

  JsonOutcome parseRoot(std::vector<JsonCell>* rows);
  Result convert(const JsonNode& node, JsonCell* cell);
  Result convertToken(const JsonNode& node, JsonCell* cell);
  Result convertObject(const JsonNode& node, JsonCell* cell);
  Result convertArray(const JsonNode& element, JsonCell* cell, bool nullsFail);
  Result convertMap(const JsonNode& node, JsonCell* cell);
  Result convertInteger(const JsonNode& node, JsonCell* cell);
  Result convertFloating(const JsonNode& node, JsonCell* cell);
  Result convertDecimal(const JsonNode& node, JsonCell* cell);
  Result convertText(JsonCell* cell);
  Result convertTime(const JsonNode& node, JsonCell* cell);
  bool parseTime(TypeId type, std::string_view text, int64_t* value) const;
  Result failed(JsonFailure failure = {});
  // Goes over what is left of a failed field.
  Result recover();

  const JsonNode& root_;
  const JsonOptions& options_;
  const JsonFormats& formats_;
  JsonReader reader_;
  JsonFailure failure_;
  bool hasFailure_ = false;
};

}  // namespace thalweg
