// Delta's extension of Spark Connect (DeltaTable in Python): its relations and commands, carried out by
// commands/.
#include <delta/connect/relations.pb.h>

#include "catalog/names.h"
#include "commands/catalog_queries.h"
#include "commands/commands.h"
#include "commands/table_target.h"
#include "common/error.h"
#include "plan/analyze/delta_messages.h"
#include "session/session.h"
#include "session/statement_session.h"

namespace thalweg {
namespace {

// As Spark: a folder within a table counts too.
bool isWithinDeltaTable(Location folder) {
  while (!folder.path.empty()) {
    if (folder.fileSystem->stat(folder.child("_delta_log").path)) return true;
    folder.path.erase(folder.path.rfind('/'));
  }
  return false;
}

bool isDeltaTable(const sql::Name& name, CommandSession& session) {
  if (isPathName(name)) return isWithinDeltaTable(session.formats().fileSystems().resolve(name[1]));
  const auto entry = findEntry(name, session);
  return entry && entry->isDelta();
}

LogicalPtr rowsOf(const CommandResult& result) {
  return std::make_shared<LogicalLocalRelation>(attributesOf(*result.schema), result.batches);
}

}  // namespace

LogicalPtr Session::deltaQuery(::delta::connect::DeltaRelation& query,
                               const CancellationToken& cancellation) {
  if (query.has_is_delta_table())
    return rowsOf(
        oneTruth(isWithinDeltaTable(server_->formats.fileSystems().resolve(query.is_delta_table().path()))));
  StatementSession session(*this, cancellation);
  if (const auto table = scannedTable(query)) {
    if (isDeltaTable(*table, session)) return findRelation(*table, {}, false, {names()}, cancellation);
    throw Error("DELTA_MISSING_DELTA_TABLE",
                quotedName(*table) + " is no Delta table: check the name or the path.",
                {{"tableName", quotedName(*table)}});
  }
  const DeltaStatement asked = deltaStatement(query);
  return rowsOf(runStatement(asked.statement, asked.text, session));
}

void Session::deltaCommand(const google::protobuf::Any& command, const CancellationToken& cancellation) {
  const DeltaStatement asked = deltaStatement(command);
  StatementSession session(*this, cancellation);
  runStatement(asked.statement, asked.text, session);
}

}  // namespace thalweg
