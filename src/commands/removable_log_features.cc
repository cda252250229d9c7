// DROP FEATURE of what lies in the log: checks of rows, forms of checkpoints, times of commits, domains.
#include <fmt/format.h>

#include "commands/feature_traces.h"
#include "common/error.h"
#include "delta/checkpoint/checkpoint_writer.h"
#include "delta/checkpoint/log_clean_up.h"
#include "delta/files/row_rules.h"
#include "delta/log/log_segment.h"
#include "delta/snapshot/table_features.h"

namespace thalweg {
namespace {

using delta::SnapshotPtr;

constexpr const char* kInCommitProvenance[] = {"delta.inCommitTimestampEnablementTimestamp",
                                               "delta.inCommitTimestampEnablementVersion"};

bool nothingToClean(const DroppedFrom&) {
  return false;
}
bool alwaysClean(const delta::Snapshot&) {
  return true;
}

std::vector<std::string> constraintNames(const delta::Snapshot& snapshot) {
  std::vector<std::string> names;
  for (const auto& [key, value] : snapshot.metadata().configuration) {
    if (key.starts_with(delta::kConstraintPrefix))
      names.push_back("`" + key.substr(std::string_view(delta::kConstraintPrefix).size()) + "`");
  }
  return names;
}

bool hasNoConstraints(const delta::Snapshot& snapshot) {
  return constraintNames(snapshot).empty();
}

// Dropping a feature never changes which rows a table takes.
bool requireNoConstraints(const DroppedFrom& table) {
  const auto names = constraintNames(*table.log->require());
  if (names.empty()) return false;
  const std::string list = fmt::format("{}", fmt::join(names, ", "));
  throw Error("DELTA_CANNOT_DROP_CHECK_CONSTRAINT_FEATURE",
              "The feature checkConstraints cannot be dropped while the table has constraints: drop " + list +
                  " first.",
              {{"constraints", list}});
}

bool restsOnNoV2Checkpoint(const delta::Snapshot& snapshot) {
  if (delta::hasV2Policy(snapshot.metadata())) return false;
  const auto segment =
      delta::listLogSegment(*snapshot.table().fileSystem, snapshot.logPath(), snapshot.version());
  return !segment || !segment->checkpoint ||
         !isV2Checkpoint(*snapshot.table().fileSystem, *segment->checkpoint);
}

bool switchV2Off(const DroppedFrom& table) {
  if (restsOnNoV2Checkpoint(*table.log->require())) return false;
  setProperties(table, {{std::string(delta::kCheckpointPolicy), "classic"}});
  return true;
}

bool usesV2(const delta::Action& action) {
  const auto* metadata = metadataOf(action);
  return metadata && delta::hasV2Policy(*metadata);
}

std::vector<std::string> inCommitProvenance(const delta::Metadata& metadata) {
  std::vector<std::string> keys;
  for (const char* key : kInCommitProvenance) {
    if (metadata.configuration.contains(key)) keys.emplace_back(key);
  }
  return keys;
}

bool hasNoCommitTimes(const delta::Snapshot& snapshot) {
  return !delta::tableFlag(snapshot.metadata(), delta::kEnableInCommitTimestamps) &&
         inCommitProvenance(snapshot.metadata()).empty();
}

bool switchCommitTimesOff(const DroppedFrom& table) {
  const SnapshotPtr snapshot = table.log->require();
  if (hasNoCommitTimes(*snapshot)) return false;
  std::vector<std::pair<std::string, std::string>> off;
  if (delta::tableFlag(snapshot->metadata(), delta::kEnableInCommitTimestamps))
    off.emplace_back(delta::kEnableInCommitTimestamps, "false");
  unsetProperties(table, inCommitProvenance(snapshot->metadata()), off);
  return true;
}

bool hasNoDomains(const delta::Snapshot& snapshot) {
  return snapshot.domainMetadata().empty();
}

bool removeDomains(const DroppedFrom& table) {
  const SnapshotPtr snapshot = table.log->require();
  if (hasNoDomains(*snapshot)) return false;
  delta::Transaction transaction(table.log, snapshot);
  int64_t count = 0;
  for (const auto& [name, domain] : snapshot->domainMetadata()) {
    transaction.setDomain({domain.domain, domain.configuration, true});
    ++count;
  }
  delta::Operation operation;
  operation.name = "DOMAIN METADATA CLEANUP";
  operation.parameters = {{"domainMetadataRemovedCount", std::to_string(count)}};
  transaction.setOperation(std::move(operation));
  delta::requireCommitted(transaction.commit());
  return true;
}

bool hasNoProtection(const delta::Snapshot& snapshot) {
  return !snapshot.metadata().configuration.contains(std::string(delta::kCheckpointProtection));
}

bool removeProtectedHistory(const DroppedFrom& table) {
  if (!isProtectedHistoryGone(*table.log->require())) {
    commitBarrier(table);
    writeBarrierCheckpoint(table);
    const SnapshotPtr snapshot = table.log->require();
    const int64_t retentionMs = delta::truncateHistoryRetentionMs(snapshot->metadata());
    delta::cleanUpLog(*snapshot, delta::cleanUpCutoffMs(table.log->clock().nowMillis(), retentionMs,
                                                        delta::CleanUpGranularity::Minute));
    if (!isProtectedHistoryGone(*snapshot)) {
      const std::string period =
          delta::tableProperty(snapshot->metadata(), "delta.dropFeatureTruncateHistory.retentionDuration")
              .value_or("24 hours");
      throw Error("DELTA_FEATURE_DROP_CHECKPOINT_PROTECTION_WAIT_FOR_RETENTION_PERIOD",
                  "The table's history still holds versions that use dropped features, so "
                  "checkpointProtection stays. "
                  "Run the statement again when they are older than " +
                      period + ".",
                  {{"truncateHistoryLogRetentionPeriod", period}});
    }
  }
  unsetProperties(table, {std::string(delta::kCheckpointProtection)});
  return false;
}

}  // namespace

std::vector<RemovableFeature> logFeatures() {
  return {
      {"checkConstraints", false, hasNoConstraints, requireNoConstraints, neverUsed},
      {"v2Checkpoint", true, restsOnNoV2Checkpoint, switchV2Off, usesV2},
      {"vacuumProtocolCheck", true, alwaysClean, nothingToClean, neverUsed},
      {"inCommitTimestamp", false, hasNoCommitTimes, switchCommitTimesOff, neverUsed},
      {"domainMetadata",
       false,
       hasNoDomains,
       removeDomains,
       neverUsed,
       {},
       {},
       {"clustering", "rowTracking"}},
      {"checkpointProtection", false, hasNoProtection, removeProtectedHistory, neverUsed},
  };
}

}  // namespace thalweg
