// DROP FEATURE of what lies in the schema and in files under it: other names, other types.
#include "commands/feature_traces.h"
#include "commands/table_rewrite.h"
#include "common/error.h"
#include "common/options.h"
#include "delta/files/column_mapping.h"
#include "delta/files/schema_enforcement.h"
#include "delta/snapshot/table_features.h"
#include "delta/snapshot/type_widening.h"

namespace thalweg {
namespace {

using delta::SnapshotPtr;

bool hasNoWidenedTypes(const delta::Snapshot& snapshot) {
  return !delta::tableFlag(snapshot.metadata(), delta::kEnableTypeWidening) &&
         !mentions(snapshot.metadata(), "delta.typeChanges");
}

bool switchWideningOff(const DroppedFrom& table) {
  const SnapshotPtr snapshot = table.log->require();
  if (hasNoWidenedTypes(*snapshot)) return false;
  if (!mentions(snapshot->metadata(), "delta.typeChanges")) {
    unsetProperties(table, {std::string(delta::kEnableTypeWidening)});
    return false;
  }
  // Every file gets the types of today; what says otherwise goes in the same commit.
  delta::Metadata changed = snapshot->metadata();
  changed.schemaString = withoutFieldKeys(changed.schemaString, "delta.typeChanges");
  std::erase_if(changed.configuration,
                [](const auto& entry) { return equalsIgnoreCase(entry.first, delta::kEnableTypeWidening); });
  delta::Operation operation;
  operation.name = "REORG";
  operation.parameters = {{"predicate", delta::jsonText("[]")}, {"applyPurge", "true"}};
  rewriteTable(table.log, snapshot, std::move(changed), std::move(operation), *table.session);
  return true;
}

bool usesWidening(const delta::Action& action) {
  const auto* metadata = metadataOf(action);
  return metadata && mentions(*metadata, "delta.typeChanges");
}

bool hasNoMapping(const delta::Snapshot& snapshot) {
  return delta::columnMappingMode(snapshot.metadata()) == delta::ColumnMappingMode::None &&
         !mentions(snapshot.metadata(), "delta.columnMapping.");
}

// Without mapping, columns have in files the names that they are shown by.
void requireStorableNames(const DataType& type) {
  const auto name = delta::nameThatNeedsMapping(type);
  if (!name) return;
  throw Error("DELTA_INVALID_COLUMN_NAMES_WHEN_REMOVING_COLUMN_MAPPING",
              "The column '" + *name +
                  "' has a name that files cannot have, so the table keeps its column mapping: "
                  "rename it first (no spaces and none of ,;{}()=).",
              {{"invalidColumnNames", *name}});
}

bool removeMapping(const DroppedFrom& table) {
  const SnapshotPtr snapshot = table.log->require();
  if (hasNoMapping(*snapshot)) return false;
  requireStorableNames(*snapshot->schema());
  delta::Metadata changed = snapshot->metadata();
  changed.schemaString = withoutFieldKeys(changed.schemaString, "delta.columnMapping.");
  std::erase_if(changed.configuration, [](const auto& entry) {
    return toLowerAscii(entry.first).starts_with("delta.columnmapping.");
  });
  delta::Operation operation;
  operation.name = "REMOVE COLUMN MAPPING";
  rewriteTable(table.log, snapshot, std::move(changed), std::move(operation), *table.session);
  return true;
}

bool usesMapping(const delta::Action& action) {
  const auto* metadata = metadataOf(action);
  return metadata && delta::columnMappingMode(*metadata) != delta::ColumnMappingMode::None;
}

}  // namespace

std::vector<RemovableFeature> columnFeatures() {
  return {
      {"columnMapping",
       true,
       hasNoMapping,
       removeMapping,
       usesMapping,
       {},
       {},
       {"icebergCompatV1", "icebergCompatV2"}},
      {"typeWidening", true, hasNoWidenedTypes, switchWideningOff, usesWidening},
      {"typeWidening-preview", true, hasNoWidenedTypes, switchWideningOff, usesWidening},
  };
}

}  // namespace thalweg
