// Columns, and fields in them, by their paths in a schema: what ALTER TABLE adds, drops and moves. Names
// ignore case; on the way into arrays and maps stand the parts element, key and value.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sql/statements.h"
#include "types/data_type.h"

namespace thalweg {

// "s.x", as the history names it.
std::string dotted(const sql::Name& path);

// All but the path's last part.
sql::Name parentOf(const sql::Name& path);

// Changes the fields of one struct, in place.
using SiblingsChange = std::function<void(std::vector<StructField>* siblings)>;

// The type with the fields below `parent` (none: its own) as `change` leaves them. Throws Error
// UNRESOLVED_COLUMN.WITH_SUGGESTION, and DELTA_ADD_COLUMN_PARENT_NOT_STRUCT where `parent` is no struct.
DataTypePtr withChangedFields(const DataTypePtr& type, const sql::Name& parent, const SiblingsChange& change);

// The type with another one at the end of `path`, which may be an array's element and a map's key or value.
// Throws Error UNRESOLVED_COLUMN.WITH_SUGGESTION.
using TypeExchange = std::function<DataTypePtr(const DataTypePtr& type)>;
DataTypePtr withChangedType(const DataTypePtr& type, const sql::Name& path, const TypeExchange& change);

// Whether the path leads to a column, or to a field in one.
bool hasField(const DataType& type, const sql::Name& path);

// Which of the siblings has the name. Throws Error UNRESOLVED_COLUMN.WITH_SUGGESTION, which says `path`.
size_t indexOf(const std::vector<StructField>& siblings, const std::string& name, const sql::Name& path);

// Puts the field of `path` first, behind the sibling `after`, or last. Throws as indexOf.
void place(std::vector<StructField>* siblings, StructField field, bool first,
           const std::optional<std::string>& after, const sql::Name& path);

}  // namespace thalweg
