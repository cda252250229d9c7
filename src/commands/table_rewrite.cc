#include "commands/table_rewrite.h"

#include <atomic>
#include <mutex>

#include <arrow/record_batch.h>

#include "common/error.h"
#include "delta/commit/transaction.h"
#include "delta/files/column_mapping.h"
#include "delta/files/data_file_writer.h"
#include "delta/files/row_tracking.h"
#include "delta/scan/data_file_reader.h"
#include "delta/snapshot/table_features.h"

namespace thalweg {
namespace {

// Files that are taken away again unless a commit may name them.
class NewFiles {
 public:
  explicit NewFiles(Location table) : table_(std::move(table)) {}
  ~NewFiles() {
    if (!handedOver_) delta::removeUncommitted(table_, files_);
  }
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;

  void add(delta::AddFile file) {
    std::lock_guard lock(mutex_);
    files_.push_back(std::move(file));
  }
  const std::vector<delta::AddFile>& files() const { return files_; }
  void handOver() { handedOver_ = true; }
  void takeBack() { handedOver_ = false; }

 private:
  Location table_;
  std::mutex mutex_;
  std::vector<delta::AddFile> files_;
  bool handedOver_ = false;
};

// Keys are physical names: those of the table as it was become those of the table as it is to be.
delta::PartitionValues renamedValues(const delta::AddFile& file, const delta::DataFileLayout& from,
                                     const delta::DataFileLayout& to) {
  delta::PartitionValues values;
  for (size_t i = 0; i < from.schema->fields().size(); ++i) {
    const auto value = file.partitionValues.find(from.physicalSchema->fields()[i].name);
    if (value != file.partitionValues.end())
      values.emplace(to.physicalSchema->fields()[i].name, value->second);
  }
  return values;
}

class Rewrite {
 public:
  Rewrite(const delta::SnapshotPtr& snapshot, const delta::Metadata& metadata,
          const CancellationToken& cancellation)
      : readLayout_(delta::makeTableLayout(*snapshot)),
        from_(delta::makeDataFileLayout(snapshot->table(), snapshot->metadata(), snapshot->protocol())),
        to_(delta::movedRowsLayout(snapshot->table(), metadata, snapshot->protocol())) {
    options_.cancellation = &cancellation;
    options_.rowIds = to_.hasRowIds;
    for (int i = 0; i < static_cast<int>(snapshot->schema()->fields().size()); ++i) {
      if (!readLayout_->isPartitionColumn(i)) options_.columns.push_back(i);
    }
  }

  void copy(const delta::AddFile& file, int taskId, NewFiles* into) const {
    delta::DataFileWriter writer(to_, renamedValues(file, from_, to_), taskId);
    delta::DataFileReader reader(readLayout_, file, options_);
    while (const auto rows = reader.next()) {
      if (rows->num_rows() > 0) writer.write(*rows);
    }
    auto written = writer.close();
    if (!written) return;
    written->dataChange = false;
    into->add(std::move(*written));
  }

 private:
  delta::TableLayoutPtr readLayout_;
  delta::DataFileLayout from_;
  delta::DataFileLayout to_;
  delta::DataFileReadOptions options_;
};

}  // namespace

void rewriteTable(const std::shared_ptr<delta::DeltaLog>& log, const delta::SnapshotPtr& snapshot,
                  delta::Metadata metadata, delta::Operation operation, CommandSession& session) {
  delta::checkWritable(snapshot->protocol(), snapshot->metadata(), snapshot->table().uri());
  const std::vector<delta::AddFile> files = snapshot->liveFiles(delta::Statistics::IfKnown);
  const Rewrite rewrite(snapshot, metadata, session.cancellation());
  NewFiles written(snapshot->table());
  std::atomic<size_t> next = 0;
  TaskPool& pool = session.pool();
  pool.runAll(pool.numSlots(), [&](int task) {
    for (size_t i = next++; i < files.size(); i = next++) rewrite.copy(files[i], task, &written);
  });
  delta::Transaction transaction(log, snapshot);
  transaction.readWholeTable();
  transaction.setMetadata(std::move(metadata));
  const int64_t nowMs = log->clock().nowMillis();
  for (const delta::AddFile& file : files)
    transaction.remove(delta::removalOf(file, nowMs, /*dataChange=*/false));
  for (const delta::AddFile& file : written.files()) transaction.add(file);
  for (auto& tag : delta::keptRowIdTags(snapshot->metadata())) operation.tags.push_back(std::move(tag));
  transaction.setOperation(std::move(operation));
  written.handOver();
  const delta::CommitOutcome outcome = transaction.commit();
  if (const auto* conflict = std::get_if<delta::Conflicted>(&outcome)) {
    written.takeBack();
    throw Error(conflict->error);
  }
}

}  // namespace thalweg
