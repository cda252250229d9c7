// A batch write that keeps all rows in memory until its commit: for sinks that show or keep them.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "connector/sink.h"

namespace thalweg {

class CollectingWrite final : public BatchWrite {
 public:
  using Batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;
  // `publish` gets all rows, tasks in order.
  explicit CollectingWrite(std::function<void(Batches)> publish) : publish_(std::move(publish)) {}
  std::unique_ptr<TaskWriter> openTask(int taskId) override;
  void commit() override;
  void abort() noexcept override {}
  int64_t numOutputRows() const override { return numRows_; }

 private:
  class Task;
  std::function<void(Batches)> publish_;
  std::mutex mutex_;
  std::vector<Batches> tasks_;
  int64_t numRows_ = 0;
};

}  // namespace thalweg
