// ALTER TABLE … CLUSTER BY.
#include <fmt/format.h>

#include "commands/alter_columns.h"
#include "commands/metadata_change.h"
#include "commands/schema_fields.h"
#include "commands/table_target.h"
#include "common/error.h"
#include "delta/snapshot/clustering.h"

namespace thalweg {

void alterClustering(const sql::AlterTable& statement, CommandSession& session) {
  const auto log =
      requireDelta(requireTable(statement.table, session, "ALTER TABLE CLUSTER BY"), session, "ALTER TABLE");
  const delta::SnapshotPtr snapshot = log->require();
  if (!snapshot->partitionColumns().empty()) {
    throw Error("DELTA_ALTER_TABLE_CLUSTER_BY_ON_PARTITIONED_TABLE_NOT_ALLOWED",
                "A table that is partitioned cannot be clustered too.", {});
  }
  const auto shown = [](const std::vector<std::vector<std::string>>& columns) {
    std::vector<std::string> names;
    for (const auto& column : columns) names.push_back(dotted(column));
    return delta::jsonText(fmt::format("{}", fmt::join(names, ",")));
  };
  MetadataChange change{snapshot->metadata(), {}, {"clustering", "domainMetadata"}};
  change.domain = delta::clusteringDomain(snapshot->metadata(), statement.columnNames);
  change.operation.name = "CLUSTER BY";
  change.operation.parameters = {{"oldClusteringColumns", shown(delta::clusteringColumns(*snapshot))},
                                 {"newClusteringColumns", shown(statement.columnNames)}};
  commitMetadata(log, snapshot, std::move(change));
}

}  // namespace thalweg
