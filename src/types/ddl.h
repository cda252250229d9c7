// Types and schemas as DDL text: "a INT, b STRUCT<c: STRING NOT NULL> COMMENT 'x'".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "types/data_type.h"

namespace thalweg {

struct StringBound;

// One type: "bigint", "array<struct<a: int>>", "decimal(10, 2)", "timestamp_ltz". Throws Error PARSE_SYNTAX_ERROR,
// UNSUPPORTED_DATATYPE, or TOO_DEEPLY_NESTED above 200 levels.
DataTypePtr parseTypeDdl(std::string_view text);

// The type that `text` begins with; *length is set to the bytes it took. For parsers of larger texts (CAST(x
// AS type)). `bounds`, where given, becomes what is declared of each of its strings (types/char_varchar.h).
DataTypePtr parseTypeDdlPrefix(std::string_view text, size_t* length,
                               std::vector<StringBound>* bounds = nullptr);

// A list of columns, or struct<…>: always a struct type. Throws Error UNSUPPORTED_CHAR_OR_VARCHAR_AS_STRING
// for CHAR and VARCHAR, as parseUserSchema: readers do not hold rows up to lengths.
SchemaPtr parseSchemaDdl(std::string_view text);

// What a user may give as a schema: schema JSON (starts with '{'), a column list, or a single type. A single type that is
// no struct becomes a struct with one column `value`, as Spark does.
SchemaPtr parseUserSchema(std::string_view text);

// "a INT,b STRING NOT NULL" (StructType.toDDL).
std::string toDdl(const Schema& schema);

}  // namespace thalweg
