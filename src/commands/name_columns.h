// The columns behind any name: a table's, a stored view's, a temporary view's; for DESCRIBE, SHOW COLUMNS and
// spark.catalog.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/command_session.h"
#include "delta/snapshot/snapshot.h"
#include "sql/statements.h"

namespace thalweg {

struct NameColumns {
  SchemaPtr schema;
  std::vector<std::string> partitionedBy;
  std::optional<TableEntry> entry;  // empty for temporary views and paths
  bool temporary = false;

  bool isPartition(const std::string& column) const;
};

// Throws Error TABLE_OR_VIEW_NOT_FOUND, and where the table itself cannot be read.
NameColumns columnsOfName(const sql::Name& name, CommandSession& session);

// A column's comment, from its metadata.
std::optional<std::string> columnComment(const StructField& field);

// A table's properties as SHOW TBLPROPERTIES has them: a Delta table's are its log's, with its protocol's
// versions.
std::map<std::string, std::string> tableProperties(const TableEntry& entry, CommandSession& session);
std::map<std::string, std::string> tableProperties(const delta::Snapshot& snapshot);
// A table's comment: a Delta table's is its log's.
std::optional<std::string> tableComment(const TableEntry& entry, CommandSession& session);

}  // namespace thalweg
