#include "sources/state/state_table.h"

#include <algorithm>

#include <arrow/api.h>

#include "common/error.h"
#include "sources/state/committed_batches.h"
#include "sources/state/state_read_plan.h"

namespace thalweg {
namespace {

using StateReadPlanPtr = std::shared_ptr<const StateReadPlan>;

class StateReader : public BatchReader {
 public:
  StateReader(StateReadPlanPtr plan, int32_t partition, const ReadRequest& request)
      : plan_(std::move(plan)),
        request_(request),
        rows_(plan_->rows(partition)),
        columns_(plan_->shape, request.columns, partition,
                 request.memoryPool != nullptr ? request.memoryPool : arrow::default_memory_pool()) {}

  std::shared_ptr<arrow::RecordBatch> next() override {
    if (request_.cancellation != nullptr) request_.cancellation->throwIfCancelled();
    while (columns_.numRows() < request_.maxBatchRows && columns_.numBytes() < request_.maxBatchBytes) {
      const auto row = rows_->next();
      if (!row) break;
      columns_.append(*row);
    }
    return columns_.numRows() == 0 ? nullptr : columns_.finish();
  }

 private:
  StateReadPlanPtr plan_;
  ReadRequest request_;
  std::unique_ptr<StateRows> rows_;
  StateColumns columns_;
};

class StateSplit : public Split {
 public:
  StateSplit(StateReadPlanPtr plan, int32_t partition) : plan_(std::move(plan)), partition_(partition) {}
  std::unique_ptr<BatchReader> open(const ReadRequest& request) const override {
    return std::make_unique<StateReader>(plan_, partition_, request);
  }

 private:
  StateReadPlanPtr plan_;
  int32_t partition_;
};

class StateTable : public Table {
 public:
  explicit StateTable(StateReadPlanPtr plan) : plan_(std::move(plan)) {}
  const SchemaPtr& schema() const override { return plan_->shape.schema; }
  std::vector<SplitPtr> planScan(const std::vector<ColumnPredicate>&) const override {
    if (plan_->options.snapshot) checkSnapshotPartition();
    std::vector<SplitPtr> splits;
    for (const int32_t partition : plan_->partitions) {
      if (!plan_->options.snapshot || partition == plan_->options.snapshot->partition)
        splits.push_back(std::make_shared<StateSplit>(plan_, partition));
    }
    return splits;
  }
  std::string description() const override {
    const StateStoreId& id = plan_->store.id;
    return "statestore " + id.stateFolder + " operator " + std::to_string(id.operatorId) + " store " +
           id.storeName + (plan_->options.firstChangedBatch ? " changes up to version " : " version ") +
           std::to_string(plan_->options.batchId + 1);
  }

 private:
  void checkSnapshotPartition() const {
    const int64_t partition = plan_->options.snapshot->partition;
    if (std::ranges::find(plan_->partitions, partition) != plan_->partitions.end()) return;
    const StateStoreId& id = plan_->store.id;
    throw Error(ErrorKind::SparkRuntime, "CANNOT_LOAD_STATE_STORE.SNAPSHOT_PARTITION_ID_NOT_FOUND",
                "The state of operator " + std::to_string(id.operatorId) + " has " +
                    std::to_string(plan_->partitions.size()) +
                    " partitions, numbered from 0, and none with the snapshotPartitionId " +
                    std::to_string(partition) + ".",
                {{"snapshotPartitionId", std::to_string(partition)},
                 {"operatorId", std::to_string(id.operatorId)},
                 {"checkpointLocation", plan_->fileSystem->uriOf(id.stateFolder)}});
  }

  StateReadPlanPtr plan_;
};

}  // namespace

std::shared_ptr<Table> openStateTable(const ReadDefinition& read, const FileSystemRegistry& files,
                                      const LoggedConfiguration& configuration, std::string temporaryFolder) {
  const Location checkpoint = checkpointOf(read, files);
  StateReadOptions options = readStateOptions(read.options, checkpoint);
  const auto logged = configuration(checkpoint, options.batchId);
  return std::make_shared<StateTable>(
      planStateRead(checkpoint, std::move(options), logged, std::move(temporaryFolder)));
}

}  // namespace thalweg
