#include "commands/table_properties.h"

#include <nlohmann/json.hpp>

#include "commands/metadata_change.h"
#include "commands/table_target.h"
#include "common/error.h"
#include "common/options.h"
#include "delta/files/row_rules.h"
#include "delta/files/row_tracking.h"
#include "delta/snapshot/table_properties.h"

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

struct ReservedProperty {
  std::string_view name;
  std::string_view advice;
};

// Names that Spark's catalogs use themselves.
constexpr ReservedProperty kReserved[] = {
    {"external", "please use CREATE EXTERNAL TABLE"},
    {"is_managed_location", "please remove it from the TBLPROPERTIES list."},
    {"location", "please use the LOCATION clause to specify it"},
    {"owner", "it will be set to the current user"},
    {"provider", "please use the USING clause to specify it"},
    {"table_type", "please remove it from the TBLPROPERTIES list."}};

void refuseReserved(const std::string& name) {
  for (const ReservedProperty& reserved : kReserved) {
    if (reserved.name != name) continue;
    throw Error("UNSUPPORTED_FEATURE.SET_TABLE_PROPERTY",
                "The property " + name +
                    " is not set or unset as others are: a statement's own clauses say it, or nobody.",
                {{"property", name}, {"msg", std::string(reserved.advice)}});
  }
}

// What readers need to make sense of the table's files stays, whatever a statement says of it: as in Spark,
// the names under which files have ids of rows, and since when commits have times of their own.
void keepReadersProperties(const delta::Metadata& before, delta::Metadata* changed) {
  for (const auto& [key, value] : before.configuration) {
    const bool isUnset = !changed->configuration.contains(key);
    if (key.starts_with(delta::kRowIdColumnsPrefix) ||
        (isUnset && key.starts_with("delta.inCommitTimestampEnablement")))
      changed->configuration[key] = value;
  }
}

}  // namespace

std::string checkedPropertyName(const std::string& given, const std::string& value, CommandSession& session) {
  refuseReserved(given);
  const bool allowUnknown = equalsIgnoreCase(
      session.lookUp("spark.databricks.delta.allowArbitraryProperties.enabled").value_or(""), "true");
  std::string name = delta::tablePropertyName(given);
  delta::checkTableProperty(name, value, allowUnknown);
  return name;
}

void setTableProperties(const sql::Name& table, const sql::Properties& properties, CommandSession& session) {
  const auto log =
      requireDelta(requireTable(table, session, "ALTER TABLE ... SET TBLPROPERTIES"), session, "ALTER TABLE");
  const delta::SnapshotPtr snapshot = log->require();
  delta::Metadata changed = snapshot->metadata();
  nlohmann::ordered_json said = nlohmann::ordered_json::object();
  std::map<std::string, std::string> set;
  for (const auto& [given, value] : properties) {
    refuseConstraint(given);
    const std::string key = checkedPropertyName(given, value, session);
    said[key] = value;
    set[key] = value;
    if (key == "comment")
      changed.description = value;
    else
      changed.configuration[key] = value;
  }
  delta::checkRetentions(set);
  keepReadersProperties(snapshot->metadata(), &changed);
  delta::Operation operation;
  operation.name = "SET TBLPROPERTIES";
  operation.parameters = {{"properties", delta::jsonText(jsonDump(said))}};
  commitMetadata(log, snapshot, {std::move(changed), std::move(operation)});
}

void unsetTableProperties(const sql::Name& table, const std::vector<std::string>& keys,
                          CommandSession& session) {
  const auto log = requireDelta(requireTable(table, session, "ALTER TABLE ... UNSET TBLPROPERTIES"), session,
                                "ALTER TABLE");
  const delta::SnapshotPtr snapshot = log->require();
  delta::Metadata changed = snapshot->metadata();
  std::vector<std::string> said;
  for (const std::string& given : keys) {
    refuseReserved(given);
    refuseConstraint(given);
    said.push_back(delta::tablePropertyName(given));
    if (given == "comment") changed.description.reset();
    changed.configuration.erase(said.back());
  }
  keepReadersProperties(snapshot->metadata(), &changed);
  delta::Operation operation;
  operation.name = "UNSET TBLPROPERTIES";
  operation.parameters = {{"properties", delta::jsonText(jsonDump(said))}, {"ifExists", "true"}};
  commitMetadata(log, snapshot, {std::move(changed), std::move(operation)});
}

}  // namespace thalweg
