#include "sinks/collecting_write.h"

#include <arrow/record_batch.h>

namespace thalweg {

class CollectingWrite::Task final : public TaskWriter {
 public:
  Task(CollectingWrite& owner, int taskId) : owner_(owner), taskId_(static_cast<size_t>(taskId)) {}
  void write(const std::shared_ptr<arrow::RecordBatch>& batch) override { rows_.push_back(batch); }
  void close() override {
    std::lock_guard lock(owner_.mutex_);
    if (owner_.tasks_.size() <= taskId_) owner_.tasks_.resize(taskId_ + 1);
    owner_.tasks_[taskId_] = std::move(rows_);
  }

 private:
  CollectingWrite& owner_;
  size_t taskId_;
  Batches rows_;
};

std::unique_ptr<TaskWriter> CollectingWrite::openTask(int taskId) { return std::make_unique<Task>(*this, taskId); }

void CollectingWrite::commit() {
  Batches all;
  for (Batches& task : tasks_) {
    for (auto& batch : task) {
      numRows_ += batch->num_rows();
      all.push_back(std::move(batch));
    }
  }
  publish_(std::move(all));
}

}  // namespace thalweg
