// to_json: columns as JSON texts.
#pragma once

#include <memory>
#include <string>

#include <arrow/type_fwd.h>

#include "formats/json/json_options.h"
#include "types/data_type.h"
#include "types/text/datetime_pattern.h"

namespace thalweg {

// A type and options prepared once; immutable, safe on any thread. Options that count: timestampFormat,
// timestampNTZFormat, dateFormat, timeZone, ignoreNullFields, pretty.
class JsonWriter {
 public:
  // Throws Error DATATYPE_MISMATCH.INVALID_JSON_SCHEMA unless `type` is a struct, array or map; unsupported()
  // for types that have no JSON form here yet (variant, calendar interval).
  JsonWriter(DataTypePtr type, JsonOptions options);

  // A utf8 array with a text for each row; null where the row is null. `values` has the Arrow type of `type`.
  std::shared_ptr<arrow::Array> write(const arrow::Array& values) const;

  // One row's text appended (the JSON file sink's line, without its separator). The row must not be null.
  void writeRow(const arrow::Array& values, int64_t row, std::string* out) const;

 private:
  void writeValue(const DataType& type, const arrow::Array& values, int64_t row, int depth,
                  std::string* out) const;
  void writeStruct(const DataType& type, const arrow::Array& values, int64_t row, int depth,
                   std::string* out) const;
  void writeArray(const DataType& type, const arrow::Array& values, int64_t row, int depth,
                  std::string* out) const;
  void writeMap(const DataType& type, const arrow::Array& values, int64_t row, int depth,
                std::string* out) const;
  void writeTimestamp(int64_t micros, bool hasZone, std::string* out) const;
  void newLine(int depth, std::string* out) const;

  DataTypePtr type_;
  JsonOptions options_;
  std::shared_ptr<const DateTimePattern> timestampFormat_;
  std::shared_ptr<const DateTimePattern> timestampNtzFormat_;
  std::shared_ptr<const DateTimePattern> dateFormat_;
};

}  // namespace thalweg
