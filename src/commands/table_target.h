// What a table's name in a statement means: an entry of the catalog, or a format and a path.
#pragma once

#include <optional>
#include <string>

#include "commands/command_session.h"
#include "sql/statements.h"

namespace thalweg {

struct TableTarget {
  std::string provider;
  std::string address;              // of the table
  std::optional<TableEntry> entry;  // empty for delta.`/path`

  bool isDelta() const;
  // As messages and results name it: spark_catalog.default.t, or delta.`/path`.
  std::string shownName() const;
};

// {"delta", "/path"}: a format and a path, no name of the catalog.
bool isPathName(const sql::Name& name);

// The table of a name, as written. Throws Error TABLE_OR_VIEW_NOT_FOUND, and EXPECT_TABLE_NOT_VIEW naming the
// `operation` where it is a view, a temporary one included.
TableTarget requireTable(const sql::Name& name, CommandSession& session, const std::string& operation);

// The temporary view that a name would be: view, or global_temp.view. Nothing for other names.
struct TemporaryName {
  TempViews where;
  std::string view;
};
std::optional<TemporaryName> temporaryName(const sql::Name& name);
// The temporary view of a name; null where there is none.
LogicalPtr findTemporaryView(const sql::Name& name, CommandSession& session);

// The same name's entry, a view or a table; nothing where there is none or the name is a path's.
std::optional<TableEntry> findEntry(const sql::Name& name, CommandSession& session);

// A Delta table's handle. Throws Error DELTA_ONLY_OPERATION for another provider's table.
std::shared_ptr<delta::DeltaLog> requireDelta(const TableTarget& target, CommandSession& session,
                                              const std::string& operation);

// A table's columns as they are now, and which of them it is partitioned by.
struct TableColumns {
  SchemaPtr schema;
  std::vector<std::string> partitionedBy;
  bool widens = false;  // a write may give them wider types
};
TableColumns columnsOf(const TableTarget& target, CommandSession& session);

// Opens a catalog table or a path's for reading; `options` are the reader's.
std::shared_ptr<Table> openTable(const TableTarget& target, const Options& options, CommandSession& session);

// The error of a name, quoted as it was written, that nothing has.
Error nameNotFound(const sql::Name& name);

}  // namespace thalweg
