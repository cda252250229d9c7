// ALTER TABLE and ALTER VIEW: which statement it is.
#include "commands/alter_columns.h"
#include "commands/drop_feature.h"
#include "commands/statements.h"
#include "commands/table_properties.h"
#include "commands/table_target.h"
#include "commands/views.h"
#include "common/error.h"

namespace thalweg {
namespace {

CommandResult rename(const sql::AlterTable& statement, CommandSession& session) {
  const auto entry = findEntry(statement.table, session);
  if (!entry) throw nameNotFound(statement.table);
  // A new name without a schema stays in the old one's.
  NameScope scope = session.names();
  scope.schema = entry->name.schema;
  const TableName to = qualifyTable(statement.newTable, scope);
  checkNewName(statement.newTable.back());
  session.catalog().rename(entry->name, to);
  return {};
}

}  // namespace

CommandResult run(const sql::AlterTable& statement, CommandSession& session) {
  using Kind = sql::AlterTable::Kind;
  if (statement.kind == Kind::ViewQuery) return alterView(statement, session);
  if (statement.kind == Kind::RenameTable) return rename(statement, session);
  if (!isPathName(statement.table) && !findEntry(statement.table, session))
    throw nameNotFound(statement.table);
  if (statement.kind == Kind::SetProperties) {
    setTableProperties(statement.table, statement.properties, session);
  } else if (statement.kind == Kind::UnsetProperties) {
    unsetTableProperties(statement.table, statement.keys, session);
  } else if (statement.kind == Kind::AddConstraint || statement.kind == Kind::DropConstraint) {
    alterConstraints(statement, session);
  } else if (statement.kind == Kind::ClusterBy) {
    alterClustering(statement, session);
  } else if (statement.kind == Kind::DropFeature) {
    dropFeature(statement, session);
  } else if (statement.kind == Kind::SetLocation) {
    throw unsupported("ALTER TABLE SET LOCATION");
  } else {
    alterColumns(statement, session);
  }
  return {};
}

}  // namespace thalweg
