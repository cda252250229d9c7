#include "delta/modify/row_removal.h"

#include "common/error.h"
#include "delta/files/wide_bounds.h"
#include "delta/snapshot/table_features.h"

namespace thalweg::delta {

void RemovalMetrics::add(const RemovalMetrics& other) {
  numDeletedRows += other.numDeletedRows;
  numCopiedRows += other.numCopiedRows;
  numRemovedFiles += other.numRemovedFiles;
  numRemovedBytes += other.numRemovedBytes;
  numAddedFiles += other.numAddedFiles;
  numAddedBytes += other.numAddedBytes;
  numDeletionVectorsAdded += other.numDeletionVectorsAdded;
  numDeletionVectorsUpdated += other.numDeletionVectorsUpdated;
  numAddedChangeFiles += other.numAddedChangeFiles;
  numDeletionVectorsRemoved += other.numDeletionVectorsRemoved;
}

bool RowRemoval::usesVectors(const Snapshot& snapshot) {
  return tableFlag(snapshot.metadata(), kEnableDeletionVectors) &&
         supportsFeature(snapshot.protocol(), "deletionVectors");
}

RowRemoval::RowRemoval(const Snapshot& snapshot)
    : vectors_(usesVectors(snapshot)), vectorWriter_(snapshot.table(), snapshot.metadata()), rewrite_(snapshot) {}

RowRemoval::~RowRemoval() {
  if (!handedOver_) vectorWriter_.discard();
}

void RowRemoval::handOver() {
  handedOver_ = true;
  rewrite_.handOver();
}

void RowRemoval::discard() noexcept {
  rewrite_.discard();
  vectorWriter_.discard();
}

void RowRemoval::remove(Transaction& transaction, const std::vector<LocatedRows>& files, int64_t nowMs) {
  std::vector<Action> actions;
  for (const LocatedRows& file : files) {
    transaction.readFile(file.file);
    removeFrom(file, nowMs, &actions);
  }
  finish();
  transaction.addFileActions(std::move(actions));
}

void RowRemoval::finish() {
  vectorWriter_.close();
}

void RowRemoval::removeFrom(const LocatedRows& located, int64_t nowMs, std::vector<Action>* actions) {
  const AddFile& file = located.file;
  actions->emplace_back(removalOf(file, nowMs));
  metrics_.numDeletedRows += static_cast<int64_t>(located.rows.size());

  const auto deleted = located.deleted->with(located.rows);
  const bool isGone = deleted->cardinality() >= located.numRows;
  if (isGone || !vectors_) {
    ++metrics_.numRemovedFiles;
    metrics_.numRemovedBytes += file.size;
  }
  metrics_.numDeletionVectorsRemoved += file.deletionVector.has_value();
  if (isGone) return;
  AddFile remaining = file;
  remaining.dataChange = true;
  remaining.stats = withWideBounds(file.stats, located.numRows);
  if (vectors_) {
    ++metrics_.numDeletionVectorsAdded;
    metrics_.numDeletionVectorsUpdated += file.deletionVector.has_value();
    remaining.deletionVector = vectorWriter_.add(*deleted);
    actions->emplace_back(std::move(remaining));
    return;
  }
  // A vector in hand, that no log has, tells the reader which rows to leave out.
  remaining.deletionVector = inlineDeletionVector(*deleted);
  const auto rewritten = rewrite_.merge({remaining}, /*dataChange=*/true);
  THALWEG_ASSERT(rewritten);
  ++metrics_.numAddedFiles;
  metrics_.numAddedBytes += rewritten->size;
  metrics_.numCopiedRows = rewrite_.numRowsWritten();
  actions->emplace_back(*rewritten);
}

}  // namespace thalweg::delta
