// TRUNCATE TABLE: all rows go, the table stays.
#include "commands/statements.h"
#include "commands/table_target.h"
#include "common/error.h"
#include "delta/commit/transaction.h"

namespace thalweg {

CommandResult run(const sql::Truncate& statement, CommandSession& session) {
  const TableTarget target = requireTable(statement.table, session, "TRUNCATE TABLE");
  const auto log = requireDelta(target, session, "TRUNCATE TABLE");
  const delta::SnapshotPtr snapshot = log->require();
  delta::Transaction transaction(log, snapshot);
  transaction.readWholeTable();
  const int64_t now = log->clock().nowMillis();
  int64_t numFiles = 0;
  snapshot->files().forEachLive([&](const delta::FileRecord& record) {
    transaction.remove(delta::removalOf(record.toAdd(delta::Statistics::IfKnown), now));
    ++numFiles;
  });
  delta::Operation operation;
  operation.name = "TRUNCATE";
  operation.metrics = {{"numRemovedFiles", numFiles}};
  transaction.setOperation(operation);
  delta::requireCommitted(transaction.commit());
  return {};
}

}  // namespace thalweg
