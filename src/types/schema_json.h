// Spark's schema JSON: the form of schemas in Delta logs, state files and the Connect protocol.
#pragma once

#include <string>
#include <string_view>

#include "types/data_type.h"

namespace thalweg {

// Compact, keys in Spark's order (type, fields; name, type, nullable, metadata), field metadata kept as given.
std::string toSchemaJson(const DataType& type);

// Any type, struct or not ('"long"' or '{"type":"struct",…}'); unknown keys are ignored, a missing containsNull is true.
// Throws Error INVALID_SCHEMA.PARSE_ERROR. Depth is bounded.
DataTypePtr parseSchemaJson(std::string_view json);

// A type's name as schema JSON has it ("long", "decimal(10,2)", "interval day to second"); null where it is none.
DataTypePtr parseTypeName(std::string_view name);

}  // namespace thalweg
