#include "delta/maintain/file_replacement.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/error.h"
#include "delta/files/row_tracking.h"
#include "delta/files/wide_bounds.h"
#include "delta/scan/value_bounds.h"

namespace thalweg::delta {
namespace {

// Every group has lost one of its files.
struct NothingLeft {};

int64_t sumOf(const std::vector<int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
}

}  // namespace

int64_t ReplacementReport::addedBytes() const {
  return sumOf(addedSizes);
}
int64_t ReplacementReport::removedBytes() const {
  return sumOf(removedSizes);
}

std::vector<std::pair<std::string, int64_t>> replacementMetrics(const ReplacementReport& report) {
  const std::vector<int64_t>& sizes = report.addedSizes;
  const auto quantile = [&](size_t quarters) -> int64_t {
    return sizes.empty() ? 0 : sizes[std::min(sizes.size() - 1, sizes.size() * quarters / 4)];
  };
  return {{"numRemovedFiles", static_cast<int64_t>(report.removedSizes.size())},
          {"numRemovedBytes", report.removedBytes()},
          {"p25FileSize", quantile(1)},
          {"numDeletionVectorsRemoved", report.numVectorsRemoved},
          {"minFileSize", quantile(0)},
          {"numAddedFiles", static_cast<int64_t>(sizes.size())},
          {"maxFileSize", quantile(4)},
          {"p75FileSize", quantile(3)},
          {"p50FileSize", quantile(2)},
          {"numAddedBytes", report.addedBytes()}};
}

FileReplacement::FileReplacement(std::shared_ptr<DeltaLog> log, SnapshotPtr snapshot,
                                 const CancellationToken* cancellation)
    : log_(std::move(log)),
      snapshot_(std::move(snapshot)),
      cancellation_(cancellation),
      layout_(makeTableLayout(*snapshot_)) {}

// What was merged goes with its FileRewrite.
FileReplacement::~FileReplacement() {
  if (handedOver_) return;
  for (const Sorted& sorted : sorted_) removeUncommitted(snapshot_->table(), sorted.outputs);
  if (vectors_) vectors_->discard();
}

void FileReplacement::merge(std::vector<std::vector<AddFile>> groups, const RunTasks& runTasks) {
  const size_t before = merged_.size();
  rewrites_.resize(before + groups.size());
  merged_.resize(before + groups.size());
  runTasks(static_cast<int>(groups.size()), [&](int task) {
    const size_t i = before + static_cast<size_t>(task);
    rewrites_[i] = std::make_unique<FileRewrite>(*snapshot_, cancellation_);
    merged_[i] =
        std::make_unique<MergedFile>(std::move(groups[static_cast<size_t>(task)]), layout_, *rewrites_[i]);
  });
}

void FileReplacement::replace(std::vector<AddFile> inputs, std::vector<AddFile> outputs) {
  for (AddFile& file : outputs) file.dataChange = false;
  sorted_.push_back({std::move(inputs), std::move(outputs)});
}

std::optional<ReplacementReport> FileReplacement::commit(
    LostFiles lost, const std::function<Operation(const ReplacementReport&)>& operation) {
  Transaction transaction(log_, snapshot_);
  transaction.planFiles([&](Transaction& planned) {
    try {
      plan(planned, lost);
    } catch (...) {
      committed_.clear();
      discardUnused();
      throw;
    }
    Operation described = operation(report_);
    for (auto& tag : keptRowIdTags(snapshot_->metadata())) described.tags.push_back(std::move(tag));
    planned.setOperation(std::move(described));
  });
  std::optional<CommitOutcome> outcome;
  try {
    outcome = transaction.commit();
  } catch (const NothingLeft&) {
    return std::nullopt;
  }
  if (const auto* conflict = std::get_if<Conflicted>(&*outcome)) {
    committed_.clear();
    discardUnused();
    throw Error(conflict->error);
  }
  discardUnused();
  report_.version = std::get<Committed>(*outcome).version;
  return report_;
}

// The inputs that are still there, as they are in `snapshot`.
LiveFiles FileReplacement::inputsOver(const Snapshot& snapshot) const {
  LiveFiles live;
  std::set<std::string> wanted;
  const auto look = [&](const std::vector<AddFile>& inputs) {
    for (const AddFile& file : inputs) {
      if (snapshot.version() == snapshot_->version())
        live.emplace(file.path, file);
      else
        wanted.insert(file.path);
    }
  };
  for (const auto& merged : merged_) look(merged->inputs());
  for (const Sorted& sorted : sorted_) look(sorted.inputs);
  if (wanted.empty()) return live;
  snapshot.files().forEachLive([&](const FileRecord& record) {
    const std::string path(record.logPath());
    if (wanted.contains(path)) live.emplace(path, record.toAdd());
  });
  return live;
}

void FileReplacement::plan(Transaction& transaction, LostFiles lost) {
  if (vectors_) vectors_->discard();
  vectors_ = std::make_unique<DeletionVectorWriter>(snapshot_->table(), snapshot_->metadata());
  report_ = {};
  committed_.clear();
  nowMs_ = log_->clock().nowMillis();
  const LiveFiles live = inputsOver(*transaction.readSnapshot());
  bool all = true;
  for (const auto& merged : merged_) all = planMerged(transaction, *merged, live) && all;
  for (const Sorted& sorted : sorted_) all = planSorted(transaction, sorted, live) && all;
  if (!all && lost == LostFiles::Conflict) {
    throw Error("DELTA_CONCURRENT_DELETE_DELETE.WITHOUT_HINT",
                "Another writer removed or changed files of the Delta table " + log_->table().path +
                    " while they were written anew. Nothing of this operation is in the table. Run it again.",
                {{"version", std::to_string(transaction.readSnapshot()->version())}});
  }
  if (report_.removedSizes.empty()) throw NothingLeft();
  std::sort(report_.addedSizes.begin(), report_.addedSizes.end());
  std::sort(report_.removedSizes.begin(), report_.removedSizes.end());
  vectors_->close();
  handOver();
}

bool FileReplacement::planMerged(Transaction& transaction, const MergedFile& merged, const LiveFiles& live) {
  const auto carried = merged.carry(live);
  if (!carried) return false;
  for (const AddFile& file : carried->removed) remove(transaction, file);
  if (!carried->output) return true;
  AddFile output = *carried->output;
  if (carried->deleted) markDeleted(&output, *carried->deleted);
  add(transaction, std::move(output));
  return true;
}

// Rows that others delete meanwhile cannot be found again in another order.
bool FileReplacement::planSorted(Transaction& transaction, const Sorted& sorted, const LiveFiles& live) {
  for (const AddFile& file : sorted.inputs) {
    const auto now = live.find(file.path);
    if (now == live.end() || now->second.deletionVector != file.deletionVector) return false;
  }
  for (const AddFile& file : sorted.inputs) remove(transaction, file);
  for (const AddFile& file : sorted.outputs) add(transaction, file);
  return true;
}

void FileReplacement::remove(Transaction& transaction, const AddFile& file) {
  transaction.readFile(file);
  transaction.remove(removalOf(file, nowMs_, /*dataChange=*/false));
  report_.removedSizes.push_back(file.size);
  report_.numVectorsRemoved += file.deletionVector.has_value();
}

void FileReplacement::add(Transaction& transaction, AddFile file) {
  report_.addedSizes.push_back(file.size);
  committed_.insert(file.path);
  transaction.add(std::move(file));
}

void FileReplacement::markDeleted(AddFile* file, const DeletedRows& deleted) {
  const auto numRecords = file->stats ? StatisticsView(*file->stats).numRecords() : std::nullopt;
  THALWEG_ASSERT(numRecords);  // we wrote the file
  file->stats = withWideBounds(file->stats, *numRecords);
  file->deletionVector = vectors_->add(deleted);
}

void FileReplacement::handOver() {
  handedOver_ = true;
  for (const auto& rewrite : rewrites_) rewrite->handOver();
}

// Of our files, those that are certainly in no commit.
void FileReplacement::discardUnused() noexcept {
  if (committed_.empty() && vectors_) vectors_->discard();
  for (const auto& rewrite : rewrites_) {
    const std::vector<AddFile> written = rewrite->written();
    for (const AddFile& file : written) {
      if (!committed_.contains(file.path)) rewrite->discard(file);
    }
  }
  for (const Sorted& sorted : sorted_) {
    for (const AddFile& file : sorted.outputs) {
      if (!committed_.contains(file.path)) removeUncommitted(snapshot_->table(), {file});
    }
  }
}

}  // namespace thalweg::delta
