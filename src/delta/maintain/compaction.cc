#include "delta/maintain/compaction.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "common/error.h"
#include "common/logging.h"
#include "delta/commit/transaction.h"
#include "delta/files/file_rewrite.h"
#include "delta/snapshot/table_features.h"

namespace thalweg::delta {
namespace {

constexpr int kBitsOfSizeClass = 4;

int sizeClassOf(int64_t sizeBytes) {
  return std::bit_width(static_cast<uint64_t>(std::max<int64_t>(sizeBytes, 0))) / kBitsOfSizeClass;
}

using GroupKey = std::pair<PartitionValues, int>;

// Greedy bins over a group's files, older ones first, so that rows keep the order in which they came.
void pack(std::vector<AddFile> files, const CompactionRules& rules, std::vector<std::vector<AddFile>>* bins) {
  std::vector<AddFile> bin;
  int64_t bytes = 0;
  const auto close = [&] {
    if (bin.size() > 1) bins->push_back(std::move(bin));
    bin.clear();
    bytes = 0;
  };
  for (AddFile& file : files) {
    if (bytes + file.size > rules.targetBytes) close();
    bytes += file.size;
    bin.push_back(std::move(file));
  }
  close();
}

// As Delta says of an automatic OPTIMIZE; the sizes are those of the files made, at their quantiles.
Operation operationOf(const CompactionReport& report, std::vector<int64_t> sizes, int64_t numDeletionVectors) {
  std::sort(sizes.begin(), sizes.end());
  const auto quantile = [&](size_t quarters) -> int64_t {
    return sizes.empty() ? 0 : sizes[std::min(sizes.size() - 1, sizes.size() * quarters / 4)];
  };
  Operation operation;
  operation.name = "OPTIMIZE";
  operation.parameters = {{"predicate", jsonText("[]")}, {"zOrderBy", jsonText("[]")}, {"clusterBy", jsonText("[]")}, {"auto", "true"}};
  operation.metrics = {{"numRemovedFiles", report.numRemovedFiles},
                       {"numRemovedBytes", report.numRemovedBytes},
                       {"p25FileSize", quantile(1)},
                       {"numDeletionVectorsRemoved", numDeletionVectors},
                       {"minFileSize", quantile(0)},
                       {"numAddedFiles", report.numAddedFiles},
                       {"maxFileSize", quantile(4)},
                       {"p75FileSize", quantile(3)},
                       {"p50FileSize", quantile(2)},
                       {"numAddedBytes", report.numAddedBytes}};
  return operation;
}

}  // namespace

std::vector<std::vector<AddFile>> chooseSmallFiles(const Snapshot& snapshot, const CompactionRules& rules) {
  std::map<GroupKey, std::vector<AddFile>> groups;
  snapshot.files().forEachLive([&](const FileRecord& record) {
    if (record.sizeBytes() >= rules.smallBelowBytes) return;
    AddFile file = record.toAdd();
    GroupKey key(file.partitionValues, sizeClassOf(file.size));
    groups[std::move(key)].push_back(std::move(file));
  });
  std::vector<std::vector<AddFile>> bins;
  for (auto& [key, files] : groups) {
    if (static_cast<int>(files.size()) >= rules.minFiles) pack(std::move(files), rules, &bins);
  }
  return bins;
}

std::optional<CompactionReport> compactSmallFiles(const std::shared_ptr<DeltaLog>& log, const CompactionRules& rules) {
  const SnapshotPtr snapshot = log->require();
  checkWritable(snapshot->protocol(), snapshot->metadata(), log->table().uri());
  const auto bins = chooseSmallFiles(*snapshot, rules);
  if (bins.empty()) return std::nullopt;

  FileRewrite rewrite(*snapshot);
  Transaction transaction(log, snapshot);
  CompactionReport report;
  int64_t numDeletionVectors = 0;
  const int64_t nowMs = log->clock().nowMillis();
  for (const auto& bin : bins) {
    if (report.numRemovedBytes >= rules.bytesPerCommit) break;
    rewrite.merge(bin, /*dataChange=*/false);
    for (const AddFile& file : bin) {
      transaction.readFile(file);
      transaction.remove(removalOf(file, nowMs, /*dataChange=*/false));
      ++report.numRemovedFiles;
      report.numRemovedBytes += file.size;
      numDeletionVectors += file.deletionVector.has_value();
    }
  }
  std::vector<int64_t> sizes;
  for (const AddFile& file : rewrite.written()) {
    transaction.add(file);
    sizes.push_back(file.size);
    ++report.numAddedFiles;
    report.numAddedBytes += file.size;
  }
  transaction.setOperation(operationOf(report, std::move(sizes), numDeletionVectors));
  rewrite.handOver();
  const CommitOutcome outcome = transaction.commit();
  if (const auto* conflict = std::get_if<Conflicted>(&outcome)) {
    rewrite.discard();
    logInfo("Small files of {} were not merged: {}", log->table().uri(), conflict->error.message());
    return std::nullopt;
  }
  report.version = std::get<Committed>(outcome).version;
  return report;
}

void compactSoon(const std::shared_ptr<DeltaLog>& log, const SnapshotPtr& committed) {
  const CompactionRules rules;
  if (committed->numFiles() < rules.minFiles || committed->version() % rules.minFiles != 0) return;
  if (!tableFlag(committed->metadata(), "delta.autoOptimize.autoCompact", /*fallback=*/true)) return;
  log->runLatest(DeltaLog::Background::Compaction, [weak = std::weak_ptr(log), rules] {
    const auto alive = weak.lock();
    if (!alive) return;
    try {
      if (const auto report = compactSmallFiles(alive, rules)) {
        logDebug("{} small files of {} became {} in version {}", report->numRemovedFiles, alive->table().uri(),
                 report->numAddedFiles, report->version);
      }
    } catch (...) {
      logWarn("Small files of {} were not merged: {}", alive->table().uri(), currentExceptionAsError().message());
    }
  });
}

}  // namespace thalweg::delta
