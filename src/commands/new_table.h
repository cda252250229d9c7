// Tables that come to be: CREATE TABLE and its kin, saveAsTable, writeTo, toTable.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "commands/command_session.h"
#include "sql/statements.h"

namespace thalweg {

struct NewTable {
  sql::Name name;
  std::string provider;  // "delta"
  std::optional<std::string> location = {};
  std::optional<std::string> comment = {};
  std::map<std::string, std::string> properties = {};
  Options options = {};  // of the writer
  std::vector<std::string> partitionedBy = {};
  std::vector<std::vector<std::string>> clusterBy = {};
  SchemaPtr columns =
      {};  // as declared; null: those of the query, or of the table that is at the location already
  LogicalPtr query = {};  // its rows become the table's; null: none

  // What to do where there is such a table: nothing, or make it anew; else Error
  // TABLE_OR_VIEW_ALREADY_EXISTS.
  bool ifNotExists = false;
  bool orReplace = false;
  bool mustExist = false;  // REPLACE TABLE: Error TABLE_OR_VIEW_NOT_FOUND where there is none
};

// Makes the table and then its name: a reader never sees a name without its table. A managed table gets the
// folder of its name in its schema's (catalog/table_folder.h). False where ifNotExists had nothing to do.
// Throws Error: what is said above; SCHEMA_NOT_FOUND (a schema is never made on the way),
// INVALID_SCHEMA_OR_RELATION_NAME, DATA_SOURCE_NOT_FOUND, PATH_NOT_ALLOWED,
// DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION, DELTA_CREATE_TABLE_SCHEME_MISMATCH and
// DELTA_CREATE_TABLE_WITH_DIFFERENT_PARTITIONING for a location that holds another table than the one
// declared.
bool createTable(const NewTable& table, CommandSession& session);

}  // namespace thalweg
