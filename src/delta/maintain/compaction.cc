#include "delta/maintain/compaction.h"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "common/error.h"
#include "common/logging.h"
#include "delta/commit/transaction.h"
#include "delta/files/deletion_vector_writer.h"
#include "delta/files/file_rewrite.h"
#include "delta/files/wide_bounds.h"
#include "delta/maintain/merged_file.h"
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

// As Delta says of an automatic OPTIMIZE; the sizes are those of the files made, at their quantiles.
Operation operationOf(const CompactionReport& report, std::vector<int64_t> sizes,
                      int64_t numDeletionVectors) {
  std::sort(sizes.begin(), sizes.end());
  const auto quantile = [&](size_t quarters) -> int64_t {
    return sizes.empty() ? 0 : sizes[std::min(sizes.size() - 1, sizes.size() * quarters / 4)];
  };
  Operation operation;
  operation.name = "OPTIMIZE";
  operation.parameters = {{"predicate", jsonText("[]")},
                          {"zOrderBy", jsonText("[]")},
                          {"clusterBy", jsonText("[]")},
                          {"auto", "true"}};
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

namespace {

// Every merge has lost one of its inputs.
struct NothingLeft {};

// One OPTIMIZE: files are merged once, and the commit follows what others do to their inputs meanwhile.
class Compaction {
 public:
  Compaction(const std::shared_ptr<DeltaLog>& log, SnapshotPtr snapshot)
      : log_(log),
        snapshot_(std::move(snapshot)),
        layout_(makeTableLayout(snapshot_->table(), snapshot_->metadata(), snapshot_->schema())),
        rewrite_(*snapshot_) {}

  void merge(std::vector<std::vector<AddFile>> bins, int64_t bytesPerCommit) {
    int64_t bytes = 0;
    for (std::vector<AddFile>& bin : bins) {
      if (bytes >= bytesPerCommit) break;
      for (const AddFile& file : bin) bytes += file.size;
      merged_.emplace_back(std::move(bin), layout_, rewrite_);
    }
  }

  std::optional<CompactionReport> commit() {
    Transaction transaction(log_, snapshot_);
    transaction.planFiles([this](Transaction& planned) { plan(planned); });
    std::optional<CommitOutcome> outcome;
    try {
      outcome = transaction.commit();
    } catch (const NothingLeft&) {
      giveUp("other writers removed some of them");
      return std::nullopt;
    }
    if (const auto* conflict = std::get_if<Conflicted>(&*outcome)) {
      giveUp(conflict->error.message());
      return std::nullopt;
    }
    const std::vector<AddFile> written = rewrite_.written();
    for (const AddFile& file : written) {
      if (!committed_.contains(file.path)) rewrite_.discard(file);
    }
    report_.version = std::get<Committed>(*outcome).version;
    return report_;
  }

 private:
  LiveFiles inputsOver(const Snapshot& snapshot) const {
    LiveFiles live;
    std::set<std::string> wanted;
    for (const MergedFile& merged : merged_) {
      for (const AddFile& file : merged.inputs()) {
        if (snapshot.version() == snapshot_->version())
          live.emplace(file.path, file);
        else
          wanted.insert(file.path);
      }
    }
    if (wanted.empty()) return live;
    snapshot.files().forEachLive([&](const FileRecord& record) {
      const std::string path(record.logPath());
      if (wanted.contains(path)) live.emplace(path, record.toAdd());
    });
    return live;
  }

  void plan(Transaction& transaction) {
    if (vectors_) vectors_->discard();
    vectors_ = std::make_unique<DeletionVectorWriter>(snapshot_->table());
    report_ = {};
    committed_.clear();
    std::vector<int64_t> sizes;
    int64_t numDeletionVectors = 0;
    const int64_t nowMs = log_->clock().nowMillis();
    const LiveFiles live = inputsOver(*transaction.readSnapshot());
    for (const MergedFile& merged : merged_) {
      const auto carried = merged.carry(live);
      if (!carried) continue;
      for (const AddFile& file : carried->removed) {
        transaction.readFile(file);
        transaction.remove(removalOf(file, nowMs, /*dataChange=*/false));
        ++report_.numRemovedFiles;
        report_.numRemovedBytes += file.size;
        numDeletionVectors += file.deletionVector.has_value();
      }
      if (!carried->output) continue;
      AddFile output = *carried->output;
      sizes.push_back(output.size);
      ++report_.numAddedFiles;
      report_.numAddedBytes += output.size;
      committed_.insert(output.path);
      if (carried->deleted) markDeleted(&output, *carried->deleted);
      transaction.add(std::move(output));
    }
    if (report_.numRemovedFiles == 0) throw NothingLeft();
    vectors_->close();
    rewrite_.handOver();
    transaction.setOperation(operationOf(report_, std::move(sizes), numDeletionVectors));
  }

  void markDeleted(AddFile* file, const DeletedRows& deleted) {
    const auto numRecords = file->stats ? StatisticsView(*file->stats).numRecords() : std::nullopt;
    THALWEG_ASSERT(numRecords);  // we wrote the file
    file->stats = withWideBounds(file->stats, *numRecords);
    file->deletionVector = vectors_->add(deleted);
  }

  void giveUp(const std::string& reason) {
    rewrite_.discard();
    if (vectors_) vectors_->discard();
    logInfo("Small files of {} were not merged: {}", log_->table().uri(), reason);
  }

  std::shared_ptr<DeltaLog> log_;
  SnapshotPtr snapshot_;
  TableLayoutPtr layout_;
  FileRewrite rewrite_;
  std::vector<MergedFile> merged_;
  std::unique_ptr<DeletionVectorWriter> vectors_;
  CompactionReport report_;          // of the last plan
  std::set<std::string> committed_;  // files of ours that it names
};

}  // namespace

std::optional<CompactionReport> compactSmallFiles(const std::shared_ptr<DeltaLog>& log,
                                                  const CompactionRules& rules) {
  const SnapshotPtr snapshot = log->require();
  checkWritable(snapshot->protocol(), snapshot->metadata(), log->table().uri());
  auto bins = chooseSmallFiles(*snapshot, rules);
  if (bins.empty()) return std::nullopt;
  Compaction compaction(log, snapshot);
  compaction.merge(std::move(bins), rules.bytesPerCommit);
  return compaction.commit();
}

void compactSoon(const std::shared_ptr<DeltaLog>& log, const SnapshotPtr& committed) {
  const CompactionRules rules;
  if ((committed->numFiles() < rules.minFiles && committed->files().totals().numDeletionVectors == 0) ||
      committed->version() % rules.minFiles != 0)
    return;
  if (!tableFlag(committed->metadata(), "delta.autoOptimize.autoCompact", /*fallback=*/true)) return;
  if (tableFlag(committed->metadata(), kRowTracking)) return;
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
