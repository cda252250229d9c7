#include "sources/state/state_table.h"

#include <algorithm>
#include <filesystem>

#include <arrow/api.h>

#include "columnar/binary_row.h"
#include "common/error.h"
#include "sources/state/committed_batches.h"
#include "state/logged_state.h"
#include "state/operator_metadata.h"
#include "state/state_files.h"
#include "state/state_schema.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

constexpr const char* kNotBuilt[] = {"joinSide",       "snapshotStartBatchId", "snapshotPartitionId",
                                     "readChangeFeed", "changeStartBatchId",   "changeEndBatchId",
                                     "stateVarName",   "readRegisteredTimers", "flattenCollectionTypes"};

// Which state, once the options are read.
struct StateReadPlan {
  std::shared_ptr<FileSystem> fileSystem;
  StateStoreId id;  // of partition 0
  LoggedState logged;
  StateSchema schema;
  SchemaPtr tableSchema;
  int64_t version = 0;
  int numPartitions = 0;
};
using StateReadPlanPtr = std::shared_ptr<const StateReadPlan>;

class CollectRows : public StateReceiver {
 public:
  void restart() override { rows.clear(); }
  void apply(const StateChange& change) override {
    if (change.kind == StateChange::Kind::Put)
      rows.insert_or_assign(std::string(change.key), std::string(change.value));
    else if (const auto found = rows.find(change.key); found != rows.end())
      rows.erase(found);
  }
  std::map<std::string, std::string, std::less<>> rows;
};

class StateReader : public BatchReader {
 public:
  StateReader(StateReadPlanPtr plan, int32_t partition, const ReadRequest& request)
      : plan_(std::move(plan)),
        partition_(partition),
        request_(request),
        pool_(request.memoryPool != nullptr ? request.memoryPool : arrow::default_memory_pool()) {}

  std::shared_ptr<arrow::RecordBatch> next() override {
    if (!loaded_) load();
    if (request_.cancellation != nullptr) request_.cancellation->throwIfCancelled();
    std::vector<std::string_view> keys, values;
    int64_t bytes = 0;
    for (; next_ != state_.rows.end() && static_cast<int64_t>(keys.size()) < request_.maxBatchRows &&
           bytes < request_.maxBatchBytes;
         ++next_) {
      keys.push_back(next_->first);
      values.push_back(next_->second);
      bytes += static_cast<int64_t>(keys.back().size() + values.back().size());
    }
    if (keys.empty()) return nullptr;
    return batchOf(keys, values);
  }

 private:
  void load() {
    StateStoreId id = plan_->id;
    id.partitionId = partition_;
    openStateFiles(plan_->logged.provider, plan_->fileSystem, id, plan_->logged.format,
                   std::filesystem::temp_directory_path().string())
        ->load(plan_->version, state_);
    next_ = state_.rows.begin();
    loaded_ = true;
  }

  std::shared_ptr<arrow::Array> structOf(const Schema& schema, const std::vector<std::string_view>& rows,
                                         BinaryRowDecoder::Role role) const {
    BinaryRowDecoder decoder(fieldTypes(schema), role, pool_);
    decoder.append(rows);
    return std::make_shared<arrow::StructArray>(toArrowType(schema), static_cast<int64_t>(rows.size()),
                                                decoder.finish());
  }

  std::shared_ptr<arrow::RecordBatch> batchOf(const std::vector<std::string_view>& keys,
                                              const std::vector<std::string_view>& values) const {
    const auto numRows = static_cast<int64_t>(keys.size());
    arrow::FieldVector fields;
    std::vector<std::shared_ptr<arrow::Array>> columns;
    for (const int column : request_.columns) {
      fields.push_back(toArrowField(plan_->tableSchema->fields()[static_cast<size_t>(column)]));
      if (column == 0)
        columns.push_back(structOf(*plan_->schema.key, keys, BinaryRowDecoder::Role::Key));
      else if (column == 1)
        columns.push_back(structOf(*plan_->schema.value, values, BinaryRowDecoder::Role::Value));
      else
        columns.push_back(
            valueOrThrow(arrow::MakeArrayFromScalar(arrow::Int32Scalar(partition_), numRows, pool_)));
    }
    return arrow::RecordBatch::Make(arrow::schema(fields), numRows, columns);
  }

  StateReadPlanPtr plan_;
  int32_t partition_;
  ReadRequest request_;
  arrow::MemoryPool* pool_;
  CollectRows state_;
  std::map<std::string, std::string, std::less<>>::const_iterator next_;
  bool loaded_ = false;
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
  const SchemaPtr& schema() const override { return plan_->tableSchema; }
  std::vector<SplitPtr> planScan(const std::vector<ColumnPredicate>&) const override {
    std::vector<SplitPtr> splits;
    for (int32_t partition = 0; partition < plan_->numPartitions; ++partition)
      splits.push_back(std::make_shared<StateSplit>(plan_, partition));
    return splits;
  }
  std::string description() const override {
    return "statestore " + plan_->id.stateFolder + " operator " + std::to_string(plan_->id.operatorId) +
           " store " + plan_->id.storeName + " version " + std::to_string(plan_->version);
  }

 private:
  StateReadPlanPtr plan_;
};

int64_t nonNegative(const Options& options, const char* name, int64_t otherwise) {
  const int64_t value = options.getLong(name).value_or(otherwise);
  if (value >= 0) return value;
  throw Error(ErrorKind::IllegalArgument, "STDS_INVALID_OPTION_VALUE.IS_NEGATIVE",
              std::string("The option '") + name + "' is negative.", {{"optionName", name}});
}

[[noreturn]] void throwNoStore(const StateStoreId& id) {
  throw Error(
      "STDS_FAILED_TO_READ_STATE_SCHEMA",
      "The store " + id.storeName + " of operator " + std::to_string(id.operatorId) +
          " has no metadata or schema in " + id.stateFolder +
          ". format(\"state-metadata\") lists what there is; the options operatorId and storeName choose.",
      {{"sourceOptions", "operatorId=" + std::to_string(id.operatorId) + ", storeName=" + id.storeName}});
}

int64_t committedBatch(const Options& options, const Location& checkpoint) {
  const int64_t last = committedBatches(checkpoint).last;
  const int64_t batchId = nonNegative(options, "batchId", last);
  if (batchId <= last) return batchId;
  throw Error("STDS_COMMITTED_BATCH_UNAVAILABLE",
              "Batch " + std::to_string(batchId) + " of the checkpoint in " + checkpoint.uri() +
                  " is not committed; the last that is, is " + std::to_string(last) + ".",
              {{"checkpointLocation", checkpoint.uri()}});
}

}  // namespace

std::shared_ptr<Table> openStateTable(const ReadDefinition& read, const FileSystemRegistry& files,
                                      const LoggedConfiguration& configuration) {
  for (const char* option : kNotBuilt) {
    if (read.options.has(option))
      throw unsupported(std::string("The option '") + option + "' of the state reader");
  }
  const Location checkpoint = checkpointOf(read, files);
  auto plan = std::make_shared<StateReadPlan>();
  const int64_t batchId = committedBatch(read.options, checkpoint);
  plan->fileSystem = checkpoint.fileSystem;
  plan->version = batchId + 1;
  plan->id.stateFolder = checkpoint.path + "/state";
  plan->id.operatorId = nonNegative(read.options, "operatorId", 0);
  plan->id.storeName = read.options.getOr("storeName", kDefaultStateStore);

  const auto metadata = readOperatorMetadata(
      *plan->fileSystem, plan->id.stateFolder + "/" + std::to_string(plan->id.operatorId));
  const StateStoreInfo* store = metadata ? metadata->store(plan->id.storeName) : nullptr;
  const auto schema = store == nullptr ? std::nullopt : readStateSchema(*plan->fileSystem, plan->id);
  if (!schema) throwNoStore(plan->id);
  plan->numPartitions = numPartitionsUsed(*metadata, *store, *schema->key);
  plan->schema = *schema;
  plan->tableSchema =
      DataType::structOf({{"key", schema->key}, {"value", schema->value}, {"partition_id", intType()}});

  plan->logged = loggedState(configuration(checkpoint, batchId), schema->key, store->numColsPrefixKey);
  return std::make_shared<StateTable>(std::move(plan));
}

}  // namespace thalweg
