#include "commands/drop_table.h"

#include "catalog/table_folder.h"
#include "commands/statements.h"
#include "commands/table_target.h"
#include "common/error.h"
#include "common/fault_points.h"

namespace thalweg {
namespace {

bool dropTemporary(const sql::Name& name, CommandSession& session) {
  const auto temporary = temporaryName(name);
  return temporary && session.dropTempView(temporary->where, temporary->view);
}

}  // namespace

void dropEntry(const TableEntry& entry, CommandSession& session) {
  if (entry.kind != TableKind::Managed) return session.catalog().drop(entry.name);
  // A place that this server may not use is said before the name is gone.
  const Location folder = session.formats().fileSystems().resolve(entry.location);
  session.catalog().drop(entry.name);
  passFaultPoint(FaultPoint::CatalogDropAfter);
  removeDroppedFolder(session.catalog(), folder);
}

void dropTable(const sql::DropTable& statement, CommandSession& session) {
  if (isPathName(statement.table)) throw unsupported("DROP TABLE of a path (remove its folder)");
  if (dropTemporary(statement.table, session)) return;
  const TableName name = qualifyTable(statement.table, session.names());
  const auto entry = session.catalog().find(name);
  if (!entry) {
    if (statement.ifExists) return;
    throw tableNotFound(name);
  }
  if (statement.isView && !entry->isView()) {
    const std::string found(tableKindName(entry->kind));
    throw Error("WRONG_COMMAND_FOR_OBJECT_TYPE", name.dotted() + " is a table: use DROP TABLE.",
                {{"operation", "DROP VIEW"},
                 {"requiredType", "VIEW or METRIC_VIEW"},
                 {"objectName", name.dotted()},
                 {"foundType", found},
                 {"alternative", "DROP TABLE"}});
  }
  dropEntry(*entry, session);
}

CommandResult run(const sql::DropTable& statement, CommandSession& session) {
  dropTable(statement, session);
  return {};
}

}  // namespace thalweg
