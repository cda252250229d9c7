#include "exec/operators/operator.h"

#include <arrow/record_batch.h>

namespace thalweg {
namespace {

void appendTree(const PhysicalNode& node, int depth, std::string* out) {
  if (depth > 0) *out += std::string(static_cast<size_t>(depth - 1) * 3, ' ') + "+- ";
  *out += node.describe() + "\n";
  for (const PhysicalPtr& child : node.children()) appendTree(*child, depth + 1, out);
}

class TransformReader final : public BatchReader {
 public:
  TransformReader(const BatchTransform& node, std::unique_ptr<BatchReader> input, EvaluationContext context,
                  const CancellationToken& cancellation)
      : node_(node), input_(std::move(input)), context_(context), cancellation_(cancellation) {}

  std::shared_ptr<arrow::RecordBatch> next() override {
    while (auto batch = input_->next()) {
      cancellation_.throwIfCancelled();
      auto result = node_.transform(batch, context_);
      if (result->num_rows() > 0) return result;
    }
    return nullptr;
  }

 private:
  const BatchTransform& node_;
  std::unique_ptr<BatchReader> input_;
  EvaluationContext context_;
  const CancellationToken& cancellation_;
};

class WrappingOperator final : public RunningOperator {
 public:
  WrappingOperator(std::unique_ptr<RunningOperator> input, WrapReader wrap) : input_(std::move(input)), wrap_(std::move(wrap)) {}
  int numPartitions() const override { return input_->numPartitions(); }
  std::unique_ptr<BatchReader> open(int partition) override { return wrap_(input_->open(partition), partition); }

 private:
  std::unique_ptr<RunningOperator> input_;
  WrapReader wrap_;
};

class VectorReader final : public BatchReader {
 public:
  explicit VectorReader(std::vector<std::shared_ptr<arrow::RecordBatch>> batches) : batches_(std::move(batches)) {}
  std::shared_ptr<arrow::RecordBatch> next() override {
    return at_ < batches_.size() ? std::move(batches_[at_++]) : nullptr;
  }

 private:
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches_;
  size_t at_ = 0;
};

}  // namespace

std::string physicalTreeString(const PhysicalNode& node) {
  std::string text;
  appendTree(node, 0, &text);
  return text;
}

std::unique_ptr<RunningOperator> BatchTransform::start(Execution& execution) const {
  return wrapReaders(children()[0]->start(execution), [this, &execution](auto input, int partition) {
    return std::make_unique<TransformReader>(*this, std::move(input), execution.evaluation(partition), execution.cancellation);
  });
}

std::unique_ptr<RunningOperator> wrapReaders(std::unique_ptr<RunningOperator> input, WrapReader wrap) {
  return std::make_unique<WrappingOperator>(std::move(input), std::move(wrap));
}

std::unique_ptr<BatchReader> SinglePartition::open(int) { return readBatches(produce()); }

std::unique_ptr<BatchReader> readBatches(std::vector<std::shared_ptr<arrow::RecordBatch>> batches) {
  return std::make_unique<VectorReader>(std::move(batches));
}

}  // namespace thalweg
