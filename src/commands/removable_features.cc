#include "commands/removable_features.h"

#include "commands/feature_traces.h"
#include "delta/checkpoint/checkpoint_writer.h"
#include "delta/checkpoint/log_clean_up.h"
#include "delta/log/checkpoint_reader.h"
#include "delta/log/log_files.h"
#include "delta/snapshot/table_features.h"

namespace thalweg {
namespace {

const std::vector<RemovableFeature>& removableFeatures() {
  static const std::vector<RemovableFeature> kFeatures = [] {
    std::vector<RemovableFeature> all = logFeatures();
    for (const auto group : {fileFeatures, columnFeatures}) {
      for (RemovableFeature& feature : group()) all.push_back(std::move(feature));
    }
    return all;
  }();
  return kFeatures;
}

}  // namespace

bool isV2Checkpoint(FileSystem& fileSystem, const delta::CheckpointFiles& checkpoint) {
  const auto name = delta::parseLogFileName(checkpoint.files.front().name());
  return (name && name->kind == delta::LogFileKind::UuidCheckpoint) ||
         !delta::sidecarNames(fileSystem, checkpoint).empty();
}

const RemovableFeature* findRemovableFeature(std::string_view name) {
  for (const RemovableFeature& feature : removableFeatures()) {
    if (feature.name == name) return &feature;
  }
  return nullptr;
}

void commitBarrier(const DroppedFrom& table) {
  delta::Transaction transaction(table.log, table.log->require());
  delta::Operation operation;
  operation.name = "Empty Commit";
  transaction.setOperation(std::move(operation));
  delta::requireCommitted(transaction.commit());
}

void writeBarrierCheckpoint(const DroppedFrom& table) {
  delta::writeCheckpoint(*table.log->require(), table.log->clock(), table.log->checkpointSettings());
}

bool isProtectedHistoryGone(const delta::Snapshot& snapshot) {
  const int64_t protectedBefore =
      delta::checkpointProtectionVersion(snapshot.protocol(), snapshot.metadata());
  if (protectedBefore <= 0) return true;
  FileSystem& fileSystem = *snapshot.table().fileSystem;
  const auto earliest = delta::earliestReliableCheckpoint(fileSystem, snapshot.logPath());
  if (!earliest || *earliest < protectedBefore) return false;
  const auto commits = delta::listCommits(fileSystem, snapshot.logPath());
  return commits.empty() || delta::parseLogFileName(commits.front().name())->version >= protectedBefore;
}

}  // namespace thalweg
