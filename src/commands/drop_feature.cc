// ALTER TABLE … DROP FEATURE: what uses the feature goes, then its name in the protocol.
#include "commands/drop_feature.h"

#include <set>

#include "commands/removable_features.h"
#include "commands/table_target.h"
#include "common/error.h"
#include "common/logging.h"
#include "delta/actions/action_reader.h"
#include "delta/checkpoint/checkpoint_writer.h"
#include "delta/checkpoint/log_clean_up.h"
#include "delta/log/log_segment.h"
#include "delta/snapshot/protocol_choice.h"
#include "delta/snapshot/table_features.h"
#include "delta/snapshot/table_properties.h"

namespace thalweg {
namespace {

using delta::SnapshotPtr;

constexpr const char* kProtection = "checkpointProtection";
// A reader that cannot read a checkpoint tries two older ones: it must not come to one before the drop.
constexpr int kBarriers = 3;

struct RetentionTexts {
  explicit RetentionTexts(const delta::Metadata& metadata)
      : log(delta::tableProperty(metadata, delta::kLogRetention).value_or("30 days")),
        truncated(delta::tableProperty(metadata, "delta.dropFeatureTruncateHistory.retentionDuration")
                      .value_or("24 hours")) {}
  Error::Parameters parameters(const std::string& feature) const {
    return {{"feature", feature},
            {"logRetentionPeriodKey", std::string(delta::kLogRetention)},
            {"logRetentionPeriod", log},
            {"truncateHistoryLogRetentionPeriod", truncated}};
  }
  std::string advice() const {
    return "Run the statement again when they are older than " + std::string(delta::kLogRetention) + " (" +
           log + "), or, with TRUNCATE HISTORY, older than " + truncated + ".";
  }
  std::string log;
  std::string truncated;
};

// The feature's row, or Delta's error for why there is none.
const RemovableFeature& requireRemovable(const std::string& name, const delta::Protocol& protocol,
                                         bool truncateHistory) {
  const bool there = delta::supportsFeature(protocol, name);
  if (!there && delta::isTableProperty(name)) {
    throw Error("DELTA_FEATURE_DROP_FEATURE_IS_DELTA_PROPERTY",
                name + " is a property of tables and no feature: use ALTER TABLE … UNSET TBLPROPERTIES.",
                {{"property", name}});
  }
  if (!delta::isKnownFeature(name)) {
    throw Error("DELTA_FEATURE_DROP_UNSUPPORTED_CLIENT_FEATURE",
                "The feature " + name + " is not known here, so it cannot be dropped.", {{"feature", name}});
  }
  if (!there) {
    throw Error("DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT",
                "The table's protocol does not have the feature " + name + ".", {{"feature", name}});
  }
  const RemovableFeature* feature = findRemovableFeature(name);
  if (!feature) {
    throw Error("DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE",
                "The feature " + name + " cannot be dropped from a table.", {{"feature", name}});
  }
  if (truncateHistory && !feature->leavesHistory && name != kProtection) {
    throw Error("DELTA_FEATURE_DROP_HISTORY_TRUNCATION_NOT_ALLOWED",
                "The feature " + name + " leaves nothing in the table's history: leave out TRUNCATE HISTORY.",
                {});
  }
  if (!truncateHistory && name == kProtection) {
    throw Error(
        "DELTA_FEATURE_CAN_ONLY_DROP_CHECKPOINT_PROTECTION_WITH_HISTORY_TRUNCATION",
        "The feature checkpointProtection is dropped with the history that it protects: say DROP FEATURE "
        "checkpointProtection TRUNCATE HISTORY.",
        {});
  }
  return *feature;
}

void refuseWhileNeeded(const RemovableFeature& feature, const delta::Protocol& protocol) {
  std::string names;
  for (const std::string& other : feature.neededBy) {
    if (delta::supportsFeature(protocol, other)) names += (names.empty() ? "" : ", ") + other;
  }
  if (names.empty()) return;
  throw Error("DELTA_FEATURE_DROP_DEPENDENT_FEATURE",
              "The feature " + std::string(feature.name) +
                  " cannot be dropped while the table has features that need it: " + names + ".",
              {{"feature", std::string(feature.name)}, {"dependentFeatures", names}});
}

// The commit that takes the feature out of the protocol. Others may commit meanwhile: what they made is
// looked at too.
void commitDowngrade(const RemovableFeature& feature, const DroppedFrom& table, bool truncateHistory,
                     bool protects) {
  const SnapshotPtr snapshot = table.log->require();
  delta::Metadata metadata = snapshot->metadata();
  for (const std::string& key : feature.properties) metadata.configuration.erase(key);
  std::set<std::string> added;
  delta::Transaction transaction(table.log, snapshot);
  if (protects) {
    added.insert(kProtection);
    transaction.setVersionProperty(std::string(delta::kCheckpointProtection));
  }
  transaction.setProtocol(delta::protocolWithout(snapshot->protocol(), feature.name, added));
  transaction.setMetadata(std::move(metadata));
  for (const std::string& name : feature.domains) {
    const auto domain = snapshot->domainMetadata().find(name);
    if (domain != snapshot->domainMetadata().end())
      transaction.setDomain({domain->second.domain, domain->second.configuration, true});
  }
  delta::Operation operation;
  operation.name = "DROP FEATURE";
  operation.parameters = {{"featureName", delta::jsonText(feature.name)},
                          {"truncateHistory", truncateHistory ? "true" : "false"}};
  transaction.setOperation(std::move(operation));
  transaction.planFiles([&feature](delta::Transaction& again) {
    if (feature.isClean(*again.readSnapshot())) return again.readWholeTable();
    throw Error("DELTA_FEATURE_DROP_CONFLICT_REVALIDATION_FAIL",
                "Another writer used the feature " + std::string(feature.name) +
                    " while it was being dropped. Run the statement again.",
                {{"concurrentCommit", ""}});
  });
  delta::requireCommitted(transaction.commit());
}

bool usesInCommits(const RemovableFeature& feature, const delta::Snapshot& snapshot) {
  FileSystem& fileSystem = *snapshot.table().fileSystem;
  for (const FileInfo& commit : delta::listCommits(fileSystem, snapshot.logPath())) {
    const auto text = delta::readCommitText(fileSystem, commit.path);
    if (!text) continue;
    for (const delta::Action& action : delta::readActions(*text, commit.path)) {
      if (feature.isUsedBy(action)) return true;
    }
  }
  return false;
}

// In the oldest version that can be relied on, tombstones left out (readers do not need them), or in any
// commit.
bool isInHistory(const RemovableFeature& feature, const delta::Snapshot& newest) {
  FileSystem& fileSystem = *newest.table().fileSystem;
  const int64_t earliest = delta::earliestReliableCheckpoint(fileSystem, newest.logPath()).value_or(0);
  const SnapshotPtr oldest = delta::loadSnapshot(newest.table(), earliest);
  if (!oldest || feature.isUsedBy(delta::Action(oldest->metadata()))) return true;
  bool found = false;
  oldest->files().forEachLive([&](const delta::FileRecord& record) {
    found = found || feature.isUsedBy(delta::Action(record.toAdd(delta::Statistics::LeftOut)));
  });
  if (found || usesInCommits(feature, newest)) return true;
  if (feature.name != "v2Checkpoint") return false;
  const auto segment = delta::listLogSegment(fileSystem, newest.logPath(), earliest);
  return segment && segment->checkpoint && isV2Checkpoint(fileSystem, *segment->checkpoint);
}

void dropWithTruncation(const RemovableFeature& feature, const DroppedFrom& table) {
  const bool changed = feature.clean(table);
  if (feature.leavesHistory) {
    commitBarrier(table);
    writeBarrierCheckpoint(table);
    const SnapshotPtr snapshot = table.log->require();
    const RetentionTexts retention(snapshot->metadata());
    if (changed) {
      throw Error("DELTA_FEATURE_DROP_WAIT_FOR_RETENTION_PERIOD",
                  "The newest version of the table no longer uses the feature " + std::string(feature.name) +
                      ", but versions of its history do, so it stays in the protocol. " + retention.advice(),
                  retention.parameters(std::string(feature.name)));
    }
    delta::cleanUpLog(*snapshot,
                      delta::cleanUpCutoffMs(table.log->clock().nowMillis(),
                                             delta::truncateHistoryRetentionMs(snapshot->metadata()),
                                             delta::CleanUpGranularity::Minute));
    if (isInHistory(feature, *snapshot)) {
      throw Error("DELTA_FEATURE_DROP_HISTORICAL_VERSIONS_EXIST",
                  "Versions of the table's history use the feature " + std::string(feature.name) +
                      ", so it stays in the protocol. " + retention.advice(),
                  retention.parameters(std::string(feature.name)));
    }
  }
  commitDowngrade(feature, table, /*truncateHistory=*/true, /*protects=*/false);
}

void dropWithProtection(const RemovableFeature& feature, const DroppedFrom& table) {
  feature.clean(table);
  for (int i = 0; feature.leavesHistory && i < kBarriers; ++i) {
    commitBarrier(table);
    try {
      writeBarrierCheckpoint(table);
    } catch (const Error& error) {
      throw Error(
          "DELTA_FEATURE_DROP_CHECKPOINT_FAILED",
          "The feature " + std::string(feature.name) +
              " was not dropped, for a checkpoint before it could not be written. Run the statement again.",
          {{"featureName", std::string(feature.name)}})
          .withCause(error);
    }
  }
  commitDowngrade(feature, table, /*truncateHistory=*/false, feature.leavesHistory);
  if (!feature.leavesHistory) return;
  try {
    delta::writeCheckpoint(*table.log->require(), table.log->clock(), table.log->checkpointSettings());
  } catch (const Error& error) {
    logWarn("The checkpoint after DROP FEATURE in {} was not written: {}", table.log->logPath(),
            error.message());
  }
}

}  // namespace

void dropFeature(const sql::AlterTable& statement, CommandSession& session) {
  const std::string& name = statement.constraint;
  DroppedFrom table;
  table.log = requireDelta(requireTable(statement.table, session, "ALTER TABLE ... DROP FEATURE"), session,
                           "ALTER TABLE");
  table.session = &session;
  const SnapshotPtr snapshot = table.log->require();
  const RemovableFeature& feature = requireRemovable(name, snapshot->protocol(), statement.truncateHistory);
  refuseWhileNeeded(feature, snapshot->protocol());
  if (statement.truncateHistory)
    dropWithTruncation(feature, table);
  else
    dropWithProtection(feature, table);
}

}  // namespace thalweg
