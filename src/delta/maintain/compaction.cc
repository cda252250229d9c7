#include "delta/maintain/compaction.h"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <utility>

#include "common/error.h"
#include "common/logging.h"
#include "delta/maintain/file_replacement.h"
#include "delta/maintain/optimize_operation.h"
#include "delta/scan/value_bounds.h"
#include "delta/snapshot/table_features.h"

namespace thalweg::delta {
namespace {

constexpr int kBitsOfSizeClass = 4;

int sizeClassOf(int64_t sizeBytes) {
  return std::bit_width(static_cast<uint64_t>(std::max<int64_t>(sizeBytes, 0))) / kBitsOfSizeClass;
}

double deletedShare(const AddFile& file) {
  const auto numRecords = file.stats ? StatisticsView(*file.stats).numRecords() : std::nullopt;
  if (!numRecords || *numRecords <= 0) return 0;
  return static_cast<double>(file.deletionVector->cardinality) / static_cast<double>(*numRecords);
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

// As Delta says of an automatic OPTIMIZE.
Operation operationOf(const ReplacementReport& report) {
  Operation operation = optimizeOperation({.isAuto = true});
  operation.metrics = replacementMetrics(report);
  return operation;
}

// What one commit takes: no merge is begun beyond its bytes.
void keepWithin(std::vector<std::vector<AddFile>>* bins, int64_t bytesPerCommit) {
  int64_t bytes = 0;
  size_t count = 0;
  for (; count < bins->size() && bytes < bytesPerCommit; ++count) {
    for (const AddFile& file : (*bins)[count]) bytes += file.size;
  }
  bins->resize(count);
}

}  // namespace

std::vector<std::vector<AddFile>> chooseSmallFiles(const Snapshot& snapshot, const CompactionRules& rules) {
  std::map<GroupKey, std::vector<AddFile>> groups;
  std::vector<std::vector<AddFile>> bins;
  snapshot.files().forEachLive([&](const FileRecord& record) {
    const bool isSmall = record.sizeBytes() < rules.smallBelowBytes;
    if (!isSmall && !record.hasDeletionVector()) return;
    AddFile file = record.toAdd();
    if (!isSmall) {
      if (deletedShare(file) > rules.maxDeletedShare) bins.push_back({std::move(file)});
      return;
    }
    GroupKey key(file.partitionValues, sizeClassOf(file.size));
    groups[std::move(key)].push_back(std::move(file));
  });
  for (auto& [key, files] : groups) {
    if (static_cast<int>(files.size()) >= rules.minFiles) pack(std::move(files), rules, &bins);
  }
  return bins;
}

std::optional<CompactionReport> compactSmallFiles(const std::shared_ptr<DeltaLog>& log,
                                                  const CompactionRules& rules) {
  const SnapshotPtr snapshot = log->require();
  checkWritable(snapshot->protocol(), snapshot->metadata(), log->table().uri());
  auto bins = chooseSmallFiles(*snapshot, rules);
  if (bins.empty()) return std::nullopt;
  keepWithin(&bins, rules.bytesPerCommit);
  FileReplacement replacement(log, snapshot, nullptr);
  replacement.merge(std::move(bins), [](int count, const std::function<void(int)>& task) {
    for (int i = 0; i < count; ++i) task(i);
  });
  const auto report = replacement.commit(LostFiles::LeaveOut, operationOf);
  if (!report) {
    logInfo("Small files of {} were not merged: other writers removed some of them", log->table().uri());
    return std::nullopt;
  }
  return CompactionReport{report->version, static_cast<int64_t>(report->addedSizes.size()),
                          static_cast<int64_t>(report->removedSizes.size()), report->addedBytes(),
                          report->removedBytes()};
}

void compactSoon(const std::shared_ptr<DeltaLog>& log, const SnapshotPtr& committed) {
  const CompactionRules rules;
  if ((committed->numFiles() < rules.minFiles && committed->files().totals().numDeletionVectors == 0) ||
      committed->version() % rules.minFiles != 0)
    return;
  if (!tableFlag(committed->metadata(), "delta.autoOptimize.autoCompact", /*fallback=*/true)) return;
  log->runLatest(DeltaLog::Background::Compaction, [weak = std::weak_ptr(log), rules] {
    const auto alive = weak.lock();
    if (!alive) return;
    try {
      if (const auto report = compactSmallFiles(alive, rules)) {
        logDebug("{} small files of {} became {} in version {}", report->numRemovedFiles,
                 alive->table().uri(), report->numAddedFiles, report->version);
      }
    } catch (...) {
      logWarn("Small files of {} were not merged: {}", alive->table().uri(),
              currentExceptionAsError().message());
    }
  });
}

}  // namespace thalweg::delta
