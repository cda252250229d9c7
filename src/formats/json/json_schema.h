// A Spark type prepared for parsing JSON into it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <arrow/type_fwd.h>

#include "types/data_type.h"

namespace thalweg {

// Immutable once made; children are a struct's fields, an array's element, or a map's value.
struct JsonNode {
  TypeId type = TypeId::Void;
  int precision = 0;
  int scale = 0;
  DataTypePtr sparkType;
  std::shared_ptr<arrow::DataType> arrowType;
  std::vector<JsonNode> children;
  std::vector<std::string> names;  // of a struct's fields

  // Index of a field by its exact name, the last one of several; -1 where none.
  int fieldIndex(std::string_view name) const;

  // Throws unsupported() for variants and intervals, Error DATATYPE_MISMATCH.INVALID_JSON_MAP_KEY_TYPE for
  // maps whose keys are no strings. `skipField` leaves a top-level field out (the corrupt record column).
  static JsonNode compile(const DataTypePtr& type, int skipField = -1);

 private:
  std::unordered_map<std::string, int> index_;
};

}  // namespace thalweg
