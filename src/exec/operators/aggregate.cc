#include "exec/operators/aggregate.h"

#include <mutex>

#include <arrow/api.h>

#include "columnar/group_table.h"
#include "exec/operators/project_filter.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

constexpr int64_t kOutputRows = 65536;

std::vector<DataTypePtr> typesOf(const std::vector<ExpressionPtr>& expressions) {
  std::vector<DataTypePtr> types;
  for (const ExpressionPtr& expression : expressions) types.push_back(expression->type());
  return types;
}

std::vector<int32_t> allRows(int64_t count) {
  std::vector<int32_t> rows(static_cast<size_t>(count));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int32_t>(i);
  return rows;
}

// Groups and their running values, of one partition or of all.
class Groups {
 public:
  Groups(const PhysicalAggregate& node, arrow::MemoryPool* pool) : node_(node), table_(typesOf(node.grouping()), pool) {
    for (const auto& aggregate : node.aggregates()) aggregators_.push_back(aggregate->spec().make());
    if (node.grouping().empty()) resize(1);
  }

  void add(const arrow::RecordBatch& batch, const EvaluationContext& context) {
    const Selection all = Selection::all(batch.num_rows());
    number(evaluate(node_.grouping(), batch, all, context), batch.num_rows());
    for (size_t i = 0; i < aggregators_.size(); ++i) {
      aggregators_[i]->update(groups_, evaluate(node_.aggregates()[i]->children(), batch, all, context), all);
    }
  }

  void merge(Groups& other) {
    const int64_t count = node_.grouping().empty() ? 1 : other.table_.numGroups();
    if (count == 0) return;
    number(other.table_.finishKeys(), count);
    for (size_t i = 0; i < aggregators_.size(); ++i) aggregators_[i]->merge(groups_, *other.aggregators_[i]);
  }

  std::vector<std::shared_ptr<arrow::RecordBatch>> finish(const std::shared_ptr<arrow::Schema>& schema, arrow::MemoryPool* pool) {
    const int64_t count = node_.grouping().empty() ? 1 : table_.numGroups();
    arrow::ArrayVector columns = table_.finishKeys();
    for (auto& aggregator : aggregators_) columns.push_back(aggregator->finish(pool));
    const auto whole = arrow::RecordBatch::Make(schema, count, std::move(columns));
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
    for (int64_t at = 0; at < count; at += kOutputRows) batches.push_back(whole->Slice(at, kOutputRows));
    return batches;
  }

 private:
  static std::vector<std::shared_ptr<arrow::Array>> evaluate(const std::vector<ExpressionPtr>& expressions,
                                                             const arrow::RecordBatch& batch, const Selection& selection,
                                                             const EvaluationContext& context) {
    std::vector<std::shared_ptr<arrow::Array>> arrays;
    for (const ExpressionPtr& expression : expressions) arrays.push_back(evaluateToArray(*expression, batch, selection, context));
    return arrays;
  }

  // groups_ = the group of each of `count` rows with these keys.
  void number(const std::vector<std::shared_ptr<arrow::Array>>& keys, int64_t count) {
    if (node_.grouping().empty()) {
      groups_.assign(static_cast<size_t>(count), 0);
      return;
    }
    table_.assign(keys, allRows(count), &groups_);
    resize(table_.numGroups());
  }

  void resize(int64_t count) {
    for (auto& aggregator : aggregators_) aggregator->resize(count);
  }

  const PhysicalAggregate& node_;
  GroupTable table_;
  std::vector<std::unique_ptr<Aggregator>> aggregators_;
  std::vector<uint32_t> groups_;
};

class RunningAggregate final : public SinglePartition {
 public:
  RunningAggregate(const PhysicalAggregate& node, std::unique_ptr<RunningOperator> input, Execution& execution)
      : node_(node), input_(std::move(input)), execution_(execution) {}

 protected:
  std::vector<std::shared_ptr<arrow::RecordBatch>> produce() override {
    arrow::MemoryPool* pool = execution_.evaluation().memoryPool();
    std::vector<std::unique_ptr<Groups>> parts(static_cast<size_t>(input_->numPartitions()));
    execution_.pool->runAll(input_->numPartitions(), [&](int partition) {
      auto groups = std::make_unique<Groups>(node_, pool);
      auto reader = input_->open(partition);
      while (auto batch = reader->next()) {
        execution_.cancellation.throwIfCancelled();
        if (batch->num_rows() > 0) groups->add(*batch, execution_.evaluation(partition));
      }
      parts[static_cast<size_t>(partition)] = std::move(groups);
    });
    // In order of partitions: results that depend on order (first) are the same on every run.
    auto total = parts.empty() ? std::make_unique<Groups>(node_, pool) : std::move(parts[0]);
    for (size_t i = 1; i < parts.size(); ++i) total->merge(*parts[i]);
    return total->finish(toArrowSchema(*node_.schema()), pool);
  }

 private:
  const PhysicalAggregate& node_;
  std::unique_ptr<RunningOperator> input_;
  Execution& execution_;
};

class DeduplicateReader final : public BatchReader {
 public:
  DeduplicateReader(const std::vector<ExpressionPtr>& keys, RunningOperator& input, Execution& execution)
      : keys_(keys), input_(input), execution_(execution), seen_(typesOf(keys), execution.evaluation().memoryPool()) {}

  std::shared_ptr<arrow::RecordBatch> next() override {
    while (partition_ < input_.numPartitions()) {
      if (!reader_) reader_ = input_.open(partition_);
      auto batch = reader_->next();
      if (!batch) {
        reader_ = nullptr;
        ++partition_;
        continue;
      }
      execution_.cancellation.throwIfCancelled();
      if (auto fresh = firstRows(batch); fresh->num_rows() > 0) return fresh;
    }
    return nullptr;
  }

 private:
  std::shared_ptr<arrow::RecordBatch> firstRows(const std::shared_ptr<arrow::RecordBatch>& batch) {
    const EvaluationContext context = execution_.evaluation();
    std::vector<std::shared_ptr<arrow::Array>> keys;
    for (const ExpressionPtr& key : keys_) {
      keys.push_back(evaluateToArray(*key, *batch, Selection::all(batch->num_rows()), context));
    }
    auto nextNew = static_cast<uint32_t>(seen_.numGroups());
    std::vector<uint32_t> groups;
    seen_.assign(keys, allRows(batch->num_rows()), &groups);
    std::vector<int32_t> rows;
    for (size_t row = 0; row < groups.size(); ++row) {
      if (groups[row] != nextNew) continue;
      rows.push_back(static_cast<int32_t>(row));
      ++nextNew;
    }
    return takeRows(batch, rows, context.memoryPool());
  }

  const std::vector<ExpressionPtr>& keys_;
  RunningOperator& input_;
  Execution& execution_;
  GroupTable seen_;
  int partition_ = 0;
  std::unique_ptr<BatchReader> reader_;
};

class RunningDeduplicate final : public RunningOperator {
 public:
  RunningDeduplicate(const std::vector<ExpressionPtr>& keys, std::unique_ptr<RunningOperator> input, Execution& execution)
      : keys_(keys), input_(std::move(input)), execution_(execution) {}
  int numPartitions() const override { return 1; }
  std::unique_ptr<BatchReader> open(int) override { return std::make_unique<DeduplicateReader>(keys_, *input_, execution_); }

 private:
  const std::vector<ExpressionPtr>& keys_;
  std::unique_ptr<RunningOperator> input_;
  Execution& execution_;
};

}  // namespace

PhysicalAggregate::PhysicalAggregate(SchemaPtr schema, std::vector<ExpressionPtr> grouping,
                                     std::vector<std::shared_ptr<const AggregateCall>> aggregates, PhysicalPtr child)
    : PhysicalNode(std::move(schema), {std::move(child)}), grouping_(std::move(grouping)), aggregates_(std::move(aggregates)) {}

std::unique_ptr<RunningOperator> PhysicalAggregate::start(Execution& execution) const {
  return std::make_unique<RunningAggregate>(*this, children()[0]->start(execution), execution);
}

std::string PhysicalAggregate::describe() const {
  std::string text = "HashAggregate(keys=[";
  for (size_t i = 0; i < grouping_.size(); ++i) text += (i ? ", " : "") + grouping_[i]->toString();
  text += "], functions=[";
  for (size_t i = 0; i < aggregates_.size(); ++i) text += (i ? ", " : "") + aggregates_[i]->toString();
  return text + "])";
}

PhysicalDeduplicate::PhysicalDeduplicate(std::vector<ExpressionPtr> keys, PhysicalPtr child)
    : PhysicalNode(child->schema(), {child}), keys_(std::move(keys)) {}

std::unique_ptr<RunningOperator> PhysicalDeduplicate::start(Execution& execution) const {
  return std::make_unique<RunningDeduplicate>(keys_, children()[0]->start(execution), execution);
}

}  // namespace thalweg
