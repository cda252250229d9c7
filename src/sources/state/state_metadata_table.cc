#include <algorithm>
#include <charconv>

#include <arrow/api.h>

#include "common/error.h"
#include "sources/state/committed_batches.h"
#include "sources/state/state_table.h"
#include "state/operator_metadata.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

SchemaPtr metadataSchema() {
  return DataType::structOf({{"operatorId", longType()},
                             {"operatorName", stringType()},
                             {"stateStoreName", stringType()},
                             {"numPartitions", intType()},
                             {"minBatchId", longType()},
                             {"maxBatchId", longType()},
                             {"operatorProperties", stringType()}});
}

std::shared_ptr<arrow::RecordBatch> rowsOf(const std::vector<OperatorMetadata>& operators,
                                           CommittedBatches batches) {
  arrow::Int64Builder ids, minimums, maximums;
  arrow::StringBuilder names, stores, properties;
  arrow::Int32Builder partitions;
  int64_t numRows = 0;
  for (const OperatorMetadata& one : operators) {
    for (const StateStoreInfo& store : one.stores) {
      throwIfFailed(ids.Append(one.operatorId));
      throwIfFailed(names.Append(one.operatorName));
      throwIfFailed(stores.Append(store.storeName));
      throwIfFailed(partitions.Append(store.numPartitions));
      throwIfFailed(minimums.Append(batches.first));
      throwIfFailed(maximums.Append(batches.last));
      throwIfFailed(one.propertiesJson.empty() ? properties.AppendNull()
                                               : properties.Append(one.propertiesJson));
      ++numRows;
    }
  }
  std::vector<std::shared_ptr<arrow::Array>> columns;
  for (arrow::ArrayBuilder* builder : std::initializer_list<arrow::ArrayBuilder*>{
           &ids, &names, &stores, &partitions, &minimums, &maximums, &properties}) {
    columns.push_back(valueOrThrow(builder->Finish()));
  }
  return arrow::RecordBatch::Make(toArrowSchema(*metadataSchema()), numRows, columns);
}

class OneBatchReader : public BatchReader {
 public:
  explicit OneBatchReader(std::shared_ptr<arrow::RecordBatch> batch) : batch_(std::move(batch)) {}
  std::shared_ptr<arrow::RecordBatch> next() override { return std::exchange(batch_, nullptr); }

 private:
  std::shared_ptr<arrow::RecordBatch> batch_;
};

class OneBatchSplit : public Split {
 public:
  explicit OneBatchSplit(std::shared_ptr<arrow::RecordBatch> batch) : batch_(std::move(batch)) {}
  std::unique_ptr<BatchReader> open(const ReadRequest& request) const override {
    return std::make_unique<OneBatchReader>(valueOrThrow(batch_->SelectColumns(request.columns)));
  }

 private:
  std::shared_ptr<arrow::RecordBatch> batch_;
};

class StateMetadataTable : public Table {
 public:
  StateMetadataTable(std::string folder, std::shared_ptr<arrow::RecordBatch> batch)
      : schema_(metadataSchema()), folder_(std::move(folder)), batch_(std::move(batch)) {}
  const SchemaPtr& schema() const override { return schema_; }
  std::vector<SplitPtr> planScan(const std::vector<ColumnPredicate>&) const override {
    return {std::make_shared<OneBatchSplit>(batch_)};
  }
  std::string description() const override { return "state-metadata " + folder_; }
  std::optional<int64_t> rowCount() const override { return batch_->num_rows(); }

 private:
  SchemaPtr schema_;
  std::string folder_;
  std::shared_ptr<arrow::RecordBatch> batch_;
};

}  // namespace

std::shared_ptr<Table> openStateMetadataTable(const ReadDefinition& read, const FileSystemRegistry& files) {
  const Location checkpoint = checkpointOf(read, files);
  const CommittedBatches batches = committedBatches(checkpoint);
  std::vector<OperatorMetadata> operators;
  for (const FileInfo& entry : checkpoint.fileSystem->list(checkpoint.path + "/state")) {
    const std::string_view name = entry.name();
    int64_t operatorId = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), operatorId);
    if (error != std::errc() || end != name.data() + name.size()) continue;
    if (auto metadata = readOperatorMetadata(*checkpoint.fileSystem, entry.path))
      operators.push_back(std::move(*metadata));
  }
  std::sort(operators.begin(), operators.end(),
            [](const OperatorMetadata& left, const OperatorMetadata& right) {
              return left.operatorId < right.operatorId;
            });
  return std::make_shared<StateMetadataTable>(checkpoint.path, rowsOf(operators, batches));
}

}  // namespace thalweg
