#include "sinks/noop/noop_sink.h"

#include <atomic>

#include <arrow/record_batch.h>

namespace thalweg {
namespace {

class NoopWrite final : public BatchWrite {
 public:
  std::unique_ptr<TaskWriter> openTask(int) override { return std::make_unique<Task>(rows_); }
  void commit() override {}
  void abort() noexcept override {}
  int64_t numOutputRows() const override { return rows_; }

 private:
  class Task final : public TaskWriter {
   public:
    explicit Task(std::atomic<int64_t>& rows) : rows_(rows) {}
    void write(const std::shared_ptr<arrow::RecordBatch>& batch) override { rows_ += batch->num_rows(); }
    void close() override {}

   private:
    std::atomic<int64_t>& rows_;
  };
  std::atomic<int64_t> rows_{0};
};

}  // namespace

std::unique_ptr<BatchWrite> makeNoopWrite() { return std::make_unique<NoopWrite>(); }

std::unique_ptr<BatchWrite> NoopSink::beginBatch(const StreamBatch&) { return makeNoopWrite(); }

}  // namespace thalweg
