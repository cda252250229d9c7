// A commit that changes what a Delta table says of itself: its schema, properties, constraints, clustering.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "delta/commit/commit_info.h"
#include "delta/snapshot/delta_log.h"

namespace thalweg {

struct MetadataChange {
  delta::Metadata metadata;  // as it is to be; may ask for features by properties, which are taken out
  delta::Operation operation;
  std::set<std::string> features = {};  // that the table must have
  std::optional<delta::DomainMetadata> domain = {};
  bool readsTable = false;  // the change rests on the table's rows
};

// Commits it over the snapshot; the protocol follows from what the metadata switches on. Where that is row
// tracking, commits come before that give the table's rows ids (delta::giveRowIds). Throws Error
// DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE, DELTA_ADDING_COLUMN_WITH_INTERNAL_NAME_FAILED, those of
// features that cannot be had, and the conflict's.
void commitMetadata(const std::shared_ptr<delta::DeltaLog>& log, const delta::SnapshotPtr& snapshot,
                    MetadataChange change);

}  // namespace thalweg
