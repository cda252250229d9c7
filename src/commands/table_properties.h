// A table's own properties and comment, changed: ALTER TABLE … SET TBLPROPERTIES, COMMENT ON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/command_session.h"
#include "sql/statements.h"

namespace thalweg {

// The name in the log of a property that a statement sets (delta/snapshot/table_properties.h). Throws Error
// UNSUPPORTED_FEATURE.SET_TABLE_PROPERTY for a name of Spark's own, and as checkTableProperty; names that are
// none pass where the session allows arbitrary properties.
std::string checkedPropertyName(const std::string& given, const std::string& value, CommandSession& session);

// A Delta table's are in its log: one commit "SET TBLPROPERTIES", in which the property `comment` is the
// table's comment. The table gets the features that a property asks for or needs. Throws Error
// DELTA_ADD_CONSTRAINTS, and as checkTableProperty.
void setTableProperties(const sql::Name& table, const sql::Properties& properties, CommandSession& session);
// Properties that the table does not have are no error, with IF EXISTS or without, as in Spark.
void unsetTableProperties(const sql::Name& table, const std::vector<std::string>& keys,
                          CommandSession& session);

}  // namespace thalweg
