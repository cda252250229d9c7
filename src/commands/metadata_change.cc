#include "commands/metadata_change.h"

#include "common/error.h"
#include "delta/commit/transaction.h"
#include "delta/files/column_mapping.h"
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

}  // namespace

void commitMetadata(const std::shared_ptr<delta::DeltaLog>& log, const delta::SnapshotPtr& snapshot,
                    MetadataChange change) {
  const std::string uri = snapshot->table().uri();
  const delta::Protocol& current = snapshot->protocol();
  delta::checkWritable(current, snapshot->metadata(), uri);
  change.features.merge(delta::takeFeatureRequests(&change.metadata, uri));
  changeMapping(snapshot->metadata(), &change.metadata);
  const bool tracks = delta::tableFlag(change.metadata, delta::kRowTracking);
  if (tracks && !delta::tableFlag(snapshot->metadata(), delta::kRowTracking))
    throw unsupported("switching on row tracking for a table that exists (its rows need ids first)");
  const delta::Protocol protocol = delta::upgradedProtocol(current, change.metadata, uri, change.features);
  delta::Transaction transaction(log, snapshot);
  if (change.readsTable) transaction.readWholeTable();
  transaction.setMetadata(std::move(change.metadata));
  if (!(protocol == current)) transaction.setProtocol(protocol);
  if (change.domain) transaction.setDomain(*change.domain);
  transaction.setOperation(std::move(change.operation));
  const delta::CommitOutcome outcome = transaction.commit();
  if (const auto* conflict = std::get_if<delta::Conflicted>(&outcome)) throw Error(conflict->error);
}

}  // namespace thalweg
