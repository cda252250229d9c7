#include "exec/operators/generate.h"

#include <algorithm>

#include <arrow/api.h>
#include <arrow/compute/api.h>

#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

constexpr int64_t kOutputRows = 65536;

std::shared_ptr<arrow::Array> taken(const std::shared_ptr<arrow::Array>& column,
                                    const std::shared_ptr<arrow::Array>& rows, arrow::MemoryPool* pool) {
  arrow::compute::ExecContext context(pool);
  return valueOrThrow(
      arrow::compute::Take(*column, *rows, arrow::compute::TakeOptions::NoBoundsCheck(), &context));
}

// Also a row for each input row of which none was made, with nulls.
GeneratedRows withMissingRows(GeneratedRows made, int64_t numRows, arrow::MemoryPool* pool) {
  GeneratedRows all;
  arrow::Int64Builder places(pool);
  size_t at = 0;
  for (int64_t row = 0; row < numRows; ++row) {
    const bool missing = at == made.rows.size() || made.rows[at] != row;
    if (missing) {
      all.rows.push_back(static_cast<int32_t>(row));
      throwIfFailed(places.AppendNull());
    }
    for (; at < made.rows.size() && made.rows[at] == row; ++at) {
      all.rows.push_back(static_cast<int32_t>(row));
      throwIfFailed(places.Append(static_cast<int64_t>(at)));
    }
  }
  if (all.rows.size() == made.rows.size()) return made;
  const auto indices = valueOrThrow(places.Finish());
  for (const auto& column : made.columns) all.columns.push_back(taken(column, indices, pool));
  return all;
}

class GenerateReader final : public BatchReader {
 public:
  GenerateReader(std::shared_ptr<arrow::Schema> schema, const GeneratorCall& generator,
                 const std::vector<int>& kept, std::unique_ptr<BatchReader> input, EvaluationContext context,
                 const CancellationToken& cancellation)
      : schema_(std::move(schema)),
        generator_(generator),
        kept_(kept),
        input_(std::move(input)),
        context_(context),
        cancellation_(cancellation) {}

  std::shared_ptr<arrow::RecordBatch> next() override {
    for (;;) {
      cancellation_.throwIfCancelled();
      if (begin_ < static_cast<int64_t>(made_.rows.size())) return output();
      batch_ = input_->next();
      if (!batch_) return nullptr;
      generate();
    }
  }

 private:
  void generate() {
    const Selection all = Selection::all(batch_->num_rows());
    std::vector<std::shared_ptr<arrow::Array>> arguments;
    for (const ExpressionPtr& argument : generator_.children())
      arguments.push_back(evaluateToArray(*argument, *batch_, all, context_));
    made_ = generator_.spec().kernel(arguments, batch_->num_rows(), context_.memoryPool());
    if (generator_.spec().outer)
      made_ = withMissingRows(std::move(made_), batch_->num_rows(), context_.memoryPool());
    begin_ = 0;
  }

  std::shared_ptr<arrow::RecordBatch> output() {
    const int64_t count = std::min(kOutputRows, static_cast<int64_t>(made_.rows.size()) - begin_);
    const auto rows = std::make_shared<arrow::Int32Array>(
        count, std::make_shared<arrow::Buffer>(reinterpret_cast<const uint8_t*>(made_.rows.data() + begin_),
                                               count * 4));
    arrow::ArrayVector columns;
    for (const int column : kept_)
      columns.push_back(taken(batch_->column(column), rows, context_.memoryPool()));
    for (const auto& column : made_.columns) columns.push_back(column->Slice(begin_, count));
    begin_ += count;
    return arrow::RecordBatch::Make(schema_, count, std::move(columns));
  }

  std::shared_ptr<arrow::Schema> schema_;
  const GeneratorCall& generator_;
  const std::vector<int>& kept_;
  std::unique_ptr<BatchReader> input_;
  EvaluationContext context_;
  const CancellationToken& cancellation_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  GeneratedRows made_;  // of the batch
  int64_t begin_ = 0;   // of those not yet out
};

class ExpandReader final : public BatchReader {
 public:
  ExpandReader(std::shared_ptr<arrow::Schema> schema,
               const std::vector<std::vector<ExpressionPtr>>& projections, std::unique_ptr<BatchReader> input,
               EvaluationContext context)
      : schema_(std::move(schema)),
        projections_(projections),
        input_(std::move(input)),
        context_(context),
        next_(projections.size()) {}

  std::shared_ptr<arrow::RecordBatch> next() override {
    if (next_ == projections_.size()) {
      batch_ = input_->next();
      if (!batch_) return nullptr;
      next_ = 0;
    }
    const Selection all = Selection::all(batch_->num_rows());
    arrow::ArrayVector columns;
    for (const ExpressionPtr& expression : projections_[next_])
      columns.push_back(evaluateToArray(*expression, *batch_, all, context_));
    ++next_;
    return arrow::RecordBatch::Make(schema_, batch_->num_rows(), std::move(columns));
  }

 private:
  std::shared_ptr<arrow::Schema> schema_;
  const std::vector<std::vector<ExpressionPtr>>& projections_;
  std::unique_ptr<BatchReader> input_;
  EvaluationContext context_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  size_t next_;  // projection of the batch
};

}  // namespace

PhysicalGenerate::PhysicalGenerate(SchemaPtr schema, std::shared_ptr<const GeneratorCall> generator,
                                   std::vector<int> kept, PhysicalPtr child)
    : PhysicalNode(std::move(schema), {std::move(child)}),
      generator_(std::move(generator)),
      kept_(std::move(kept)) {}

std::unique_ptr<RunningOperator> PhysicalGenerate::start(Execution& execution) const {
  return wrapReaders(children()[0]->start(execution), [this, &execution, schema = toArrowSchema(*schema())](
                                                          auto input, int partition) {
    return std::make_unique<GenerateReader>(schema, *generator_, kept_, std::move(input),
                                            execution.evaluation(partition), execution.cancellation);
  });
}

std::string PhysicalGenerate::describe() const {
  return "Generate " + generator_->toString();
}

PhysicalExpand::PhysicalExpand(SchemaPtr schema, std::vector<std::vector<ExpressionPtr>> projections,
                               PhysicalPtr child)
    : PhysicalNode(std::move(schema), {std::move(child)}), projections_(std::move(projections)) {}

std::unique_ptr<RunningOperator> PhysicalExpand::start(Execution& execution) const {
  return wrapReaders(children()[0]->start(execution),
                     [this, &execution, schema = toArrowSchema(*schema())](auto input, int partition) {
                       return std::make_unique<ExpandReader>(schema, projections_, std::move(input),
                                                             execution.evaluation(partition));
                     });
}

std::string PhysicalExpand::describe() const {
  return "Expand " + std::to_string(projections_.size()) + " times";
}

}  // namespace thalweg
