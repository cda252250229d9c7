#include "sinks/memory/memory_sink.h"

#include <arrow/api.h>

#include "sinks/collecting_write.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

class MemorySplit final : public Split {
 public:
  MemorySplit(SchemaPtr schema, std::vector<std::shared_ptr<arrow::RecordBatch>> rows) : schema_(std::move(schema)), rows_(std::move(rows)) {}

  std::unique_ptr<BatchReader> open(const ReadRequest& request) const override {
    return std::make_unique<Reader>(rows_, request.columns);
  }

 private:
  class Reader final : public BatchReader {
   public:
    Reader(const std::vector<std::shared_ptr<arrow::RecordBatch>>& rows, std::vector<int> columns)
        : rows_(rows), columns_(std::move(columns)) {}
    std::shared_ptr<arrow::RecordBatch> next() override {
      if (at_ >= rows_.size()) return nullptr;
      return valueOrThrow(rows_[at_++]->SelectColumns(columns_));
    }

   private:
    const std::vector<std::shared_ptr<arrow::RecordBatch>>& rows_;
    std::vector<int> columns_;
    size_t at_ = 0;
  };
  SchemaPtr schema_;
  std::vector<std::shared_ptr<arrow::RecordBatch>> rows_;
};

}  // namespace

std::vector<SplitPtr> MemoryRows::planScan(const std::vector<ColumnPredicate>&) const {
  std::lock_guard lock(mutex_);
  return {std::make_shared<MemorySplit>(schema_, rows_)};
}

bool MemoryRows::has(int64_t batchId) const {
  std::lock_guard lock(mutex_);
  return batchId <= lastBatch_;
}

void MemoryRows::add(int64_t batchId, std::vector<std::shared_ptr<arrow::RecordBatch>> rows, bool replace) {
  std::lock_guard lock(mutex_);
  if (batchId <= lastBatch_) return;
  lastBatch_ = batchId;
  if (replace) rows_.clear();
  for (auto& batch : rows) rows_.push_back(std::move(batch));
}

std::unique_ptr<BatchWrite> MemorySink::beginBatch(const StreamBatch& batch) {
  if (rows_->has(batch.batchId)) return nullptr;
  return std::make_unique<CollectingWrite>([rows = rows_, id = batch.batchId, replace = batch.mode == OutputMode::Complete](
                                               std::vector<std::shared_ptr<arrow::RecordBatch>> all) { rows->add(id, std::move(all), replace); });
}

}  // namespace thalweg
