#include "commands/table_properties.h"

#include <nlohmann/json.hpp>

#include "commands/metadata_change.h"
#include "commands/table_target.h"
#include "common/error.h"
#include "delta/files/row_rules.h"

namespace thalweg {
namespace {

std::string jsonDump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Constraints have statements of their own.
void refuseConstraint(const std::string& key) {
  if (!key.starts_with(delta::kConstraintPrefix)) return;
  throw Error(
      "DELTA_ADD_CONSTRAINTS",
      "The property " + key + " cannot be set or unset: use ALTER TABLE ADD CONSTRAINT and DROP CONSTRAINT.",
      {});
}

}  // namespace

void setTableProperties(const sql::Name& table, const sql::Properties& properties, CommandSession& session) {
  const auto log =
      requireDelta(requireTable(table, session, "ALTER TABLE ... SET TBLPROPERTIES"), session, "ALTER TABLE");
  const delta::SnapshotPtr snapshot = log->require();
  delta::Metadata changed = snapshot->metadata();
  nlohmann::ordered_json said = nlohmann::ordered_json::object();
  for (const auto& [key, value] : properties) {
    refuseConstraint(key);
    said[key] = value;
    if (key == "comment")
      changed.description = value;
    else
      changed.configuration[key] = value;
  }
  delta::Operation operation;
  operation.name = "SET TBLPROPERTIES";
  operation.parameters = {{"properties", delta::jsonText(jsonDump(said))}};
  commitMetadata(log, snapshot, {std::move(changed), std::move(operation)});
}

void unsetTableProperties(const sql::Name& table, const std::vector<std::string>& keys, bool ifExists,
                          CommandSession& session) {
  const TableTarget target = requireTable(table, session, "ALTER TABLE ... UNSET TBLPROPERTIES");
  const auto log = requireDelta(target, session, "ALTER TABLE");
  const delta::SnapshotPtr snapshot = log->require();
  delta::Metadata changed = snapshot->metadata();
  for (const std::string& key : keys) {
    refuseConstraint(key);
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
  commitMetadata(log, snapshot, {std::move(changed), std::move(operation)});
}

}  // namespace thalweg
