// ALTER TABLE … ALTER COLUMN … TYPE: a column, or what lies in one, gets a wider type. Files stay as they
// are.
#pragma once

#include <functional>
#include <string>

#include "sql/statements.h"
#include "types/data_type.h"

namespace thalweg {

struct TypeChangeRules {
  std::string table;                      // as messages name it
  bool widens = false;                    // the table's types may be widened
  std::function<void()> checkDependents;  // throws where something rests on the old type
  std::string boundedType = {};           // the new type where the statement gives it a length: VARCHAR(3)
};

// The schema with the type `to` at the end of the path. Throws Error UNRESOLVED_COLUMN.WITH_SUGGESTION;
// DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP for a type that holds the old one's values but that the table's
// files could not be read as, or without type widening; NOT_SUPPORTED_CHANGE_COLUMN for any other;
// CANNOT_UPDATE_FIELD where it is nested.
SchemaPtr withWiderType(const SchemaPtr& schema, const sql::Name& path, const DataTypePtr& to,
                        const TypeChangeRules& rules);

}  // namespace thalweg
