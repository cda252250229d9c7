#include "commands/metadata_change.h"

#include "common/error.h"
#include "delta/commit/transaction.h"
#include "delta/files/column_mapping.h"
#include "delta/files/row_tracking.h"
#include "delta/files/statistics_columns.h"
#include "delta/maintain/row_tracking_start.h"
#include "delta/snapshot/metadata_rules.h"
#include "delta/snapshot/protocol_choice.h"
#include "delta/snapshot/table_features.h"

namespace thalweg {
namespace {

const char* nameOf(delta::ColumnMappingMode mode) {
  switch (mode) {
    case delta::ColumnMappingMode::None:
      return "none";
    case delta::ColumnMappingMode::Name:
      return "name";
    case delta::ColumnMappingMode::Id:
      return "id";
  }
  throw internalError("unknown column mapping mode");
}

// From none to name alone: the columns' names stay those of the files.
void changeMapping(const delta::Metadata& before, delta::Metadata* after) {
  const auto from = delta::columnMappingMode(before);
  const auto to = delta::columnMappingMode(*after);
  if (from == to) return delta::assignColumnMapping(after, delta::PhysicalNames::Generated);
  if (from == delta::ColumnMappingMode::None && to == delta::ColumnMappingMode::Name)
    return delta::assignColumnMapping(after, delta::PhysicalNames::AsShown);
  throw Error("DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE",
              std::string("The column mapping of a table cannot go from ") + nameOf(from) + " to " +
                  nameOf(to) + "; from none to name it can.",
              {{"oldMode", nameOf(from)}, {"newMode", nameOf(to)}});
}

bool isSame(const delta::Metadata& one, const delta::Metadata& other) {
  return one.id == other.id && one.name == other.name && one.description == other.description &&
         one.schemaString == other.schemaString && one.partitionColumns == other.partitionColumns &&
         one.configuration == other.configuration;
}

bool beginsToTrack(const delta::Metadata& before, const delta::Metadata& after) {
  return delta::tableFlag(after, delta::kRowTracking) && !delta::tableFlag(before, delta::kRowTracking);
}

// Gives the rows that are there ids, in commits of their own; the version in which all have some.
delta::SnapshotPtr beginTracking(const std::shared_ptr<delta::DeltaLog>& log, const delta::Snapshot& before,
                                 MetadataChange* change) {
  delta::nameRowIdColumns(&change->metadata);
  delta::checkRowIdColumns(change->metadata, before.table().uri());
  delta::SnapshotPtr ready = delta::giveRowIds(log);
  if (!isSame(ready->metadata(), before.metadata())) {
    throw Error("DELTA_METADATA_CHANGED",
                "Another writer changed the table's schema, partitioning or properties while its rows got "
                "ids. They keep them; run the statement again.",
                {});
  }
  delta::Metadata alone = before.metadata();
  for (const auto& [key, value] : change->metadata.configuration) {
    if (key == delta::kRowTracking || key.starts_with(delta::kRowIdColumnsPrefix))
      alone.configuration[key] = value;
  }
  // Other writers need not give up for it.
  if (isSame(alone, change->metadata))
    change->operation.tags.emplace_back("rowTrackingEnablementOnly", "true");
  return ready;
}

}  // namespace

void commitMetadata(const std::shared_ptr<delta::DeltaLog>& log, const delta::SnapshotPtr& snapshot,
                    MetadataChange change) {
  const std::string uri = snapshot->table().uri();
  delta::checkWritable(snapshot->protocol(), snapshot->metadata(), uri);
  change.features.merge(delta::takeFeatureRequests(&change.metadata, uri));
  changeMapping(snapshot->metadata(), &change.metadata);
  delta::checkRowIdColumns(change.metadata, uri);
  delta::checkNewMetadata(&snapshot->metadata(), change.metadata);
  if (delta::tableProperty(change.metadata, delta::kStatisticsColumns) !=
      delta::tableProperty(snapshot->metadata(), delta::kStatisticsColumns))
    delta::checkStatisticsColumns(change.metadata);
  delta::SnapshotPtr newest = snapshot;
  if (beginsToTrack(snapshot->metadata(), change.metadata)) {
    // What it refuses it shall refuse before anything is committed.
    delta::upgradedProtocol(snapshot->protocol(), change.metadata, uri, change.features);
    newest = beginTracking(log, *snapshot, &change);
  }
  const delta::Protocol& current = newest->protocol();
  const delta::Protocol protocol = delta::upgradedProtocol(current, change.metadata, uri, change.features);
  delta::Transaction transaction(log, newest);
  if (change.readsTable) transaction.readWholeTable();
  transaction.setMetadata(std::move(change.metadata));
  if (!(protocol == current)) transaction.setProtocol(protocol);
  if (change.domain) transaction.setDomain(*change.domain);
  transaction.setOperation(std::move(change.operation));
  delta::requireCommitted(transaction.commit());
}

}  // namespace thalweg
