#include "commands/table_properties.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "commands/table_target.h"
#include "common/error.h"
#include "delta/commit/transaction.h"
#include "delta/snapshot/table_features.h"

namespace thalweg {
namespace {

std::string jsonDump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void refuseFeatureSwitch(const std::string& key) {
  if (!key.starts_with("delta.feature.") && key != "delta.minReaderVersion" &&
      key != "delta.minWriterVersion" && !key.starts_with("delta.columnMapping.") &&
      !key.starts_with("delta.constraints.")) {
    return;
  }
  throw unsupported("ALTER TABLE with the property " + key);
}

// The features that the changed metadata asks for must be the table's already.
void checkFeatures(const delta::Metadata& changed, const delta::Snapshot& snapshot) {
  const auto there = delta::writerFeatures(snapshot.protocol());
  for (const std::string& feature :
       delta::writerFeatures(delta::protocolForNewTable(changed, snapshot.table().uri()))) {
    if (std::find(there.begin(), there.end(), feature) == there.end())
      throw unsupported("switching on the table feature " + feature);
  }
}

void commitMetadata(const std::shared_ptr<delta::DeltaLog>& log, const delta::SnapshotPtr& snapshot,
                    delta::Metadata changed, delta::Operation operation) {
  checkFeatures(changed, *snapshot);
  delta::Transaction transaction(log, snapshot);
  transaction.setMetadata(std::move(changed));
  transaction.setOperation(std::move(operation));
  const delta::CommitOutcome outcome = transaction.commit();
  if (const auto* conflict = std::get_if<delta::Conflicted>(&outcome)) throw Error(conflict->error);
}

}  // namespace

void setTableProperties(const sql::Name& table, const sql::Properties& properties, CommandSession& session) {
  const auto log =
      requireDelta(requireTable(table, session, "ALTER TABLE ... SET TBLPROPERTIES"), session, "ALTER TABLE");
  const delta::SnapshotPtr snapshot = log->require();
  delta::Metadata changed = snapshot->metadata();
  nlohmann::ordered_json said = nlohmann::ordered_json::object();
  for (const auto& [key, value] : properties) {
    refuseFeatureSwitch(key);
    said[key] = value;
    if (key == "comment")
      changed.description = value;
    else
      changed.configuration[key] = value;
  }
  delta::Operation operation;
  operation.name = "SET TBLPROPERTIES";
  operation.parameters = {{"properties", delta::jsonText(jsonDump(said))}};
  commitMetadata(log, snapshot, std::move(changed), std::move(operation));
}

void unsetTableProperties(const sql::Name& table, const std::vector<std::string>& keys, bool ifExists,
                          CommandSession& session) {
  const TableTarget target = requireTable(table, session, "ALTER TABLE ... UNSET TBLPROPERTIES");
  const auto log = requireDelta(target, session, "ALTER TABLE");
  const delta::SnapshotPtr snapshot = log->require();
  delta::Metadata changed = snapshot->metadata();
  for (const std::string& key : keys) {
    refuseFeatureSwitch(key);
    const bool comment = key == "comment" && changed.description;
    if (comment)
      changed.description.reset();
    else if (changed.configuration.erase(key) == 0 && !ifExists) {
      throw Error("DELTA_UNSET_NON_EXISTENT_PROPERTY",
                  "The table " + target.shownName() + " has no property " + key + "; use IF EXISTS.",
                  {{"property", key}, {"tableName", target.shownName()}});
    }
  }
  delta::Operation operation;
  operation.name = "UNSET TBLPROPERTIES";
  operation.parameters = {{"properties", delta::jsonText(jsonDump(keys))},
                          {"ifExists", delta::jsonText(ifExists ? "true" : "false")}};
  commitMetadata(log, snapshot, std::move(changed), std::move(operation));
}

}  // namespace thalweg
