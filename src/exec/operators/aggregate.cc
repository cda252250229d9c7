#include "exec/operators/aggregate.h"

#include <mutex>

#include <arrow/api.h>

#include "columnar/group_table.h"
#include "columnar/normalized_floats.h"
#include "exec/operators/groups.h"
#include "exec/operators/project_filter.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

std::vector<int32_t> allRows(int64_t count) {
  std::vector<int32_t> rows(static_cast<size_t>(count));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int32_t>(i);
  return rows;
}

class RunningAggregate final : public SinglePartition {
 public:
  RunningAggregate(const PhysicalAggregate& node, std::unique_ptr<RunningOperator> input, Execution& execution)
      : node_(node), input_(std::move(input)), execution_(execution) {}

 protected:
  std::vector<std::shared_ptr<arrow::RecordBatch>> produce() override {
    arrow::MemoryPool* pool = execution_.evaluation().memoryPool();
    std::vector<std::unique_ptr<Groups>> parts(static_cast<size_t>(input_->numPartitions()));
    execution_.pool->runAll(input_->numPartitions(), [&](int partition) {
      parts[static_cast<size_t>(partition)] = groupPartition(*input_, partition, execution_, node_.grouping(), node_.aggregates());
    });
    // In order of partitions: results that depend on order (first) are the same on every run.
    auto total = parts.empty() ? std::make_unique<Groups>(node_.grouping(), node_.aggregates(), pool) : std::move(parts[0]);
    for (size_t i = 1; i < parts.size(); ++i) total->merge(*parts[i]);
    const std::vector<uint32_t> groups = allGroups(total->numGroups());
    return resultBatches(*node_.schema(), total->takeKeys(), total->aggregators(), groups, pool);
  }

 private:
  const PhysicalAggregate& node_;
  std::unique_ptr<RunningOperator> input_;
  Execution& execution_;
};

class DeduplicateReader final : public BatchReader {
 public:
  DeduplicateReader(const Schema& schema, const std::vector<int>& keys, RunningOperator& input, Execution& execution)
      : schema_(schema), keys_(keys), input_(input), execution_(execution),
        seen_(typesOf(schema, keys), execution.evaluation().memoryPool()) {}

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
  std::shared_ptr<arrow::RecordBatch> firstRows(std::shared_ptr<arrow::RecordBatch> batch) {
    const EvaluationContext context = execution_.evaluation();
    std::vector<std::shared_ptr<arrow::Array>> keys;
    for (const int column : keys_) {
      keys.push_back(normalizeFloats(*schema_.fields()[static_cast<size_t>(column)].type, batch->column(column), context.memoryPool()));
      if (keys.back() != batch->column(column))
        batch = valueOrThrow(batch->SetColumn(column, batch->schema()->field(column), keys.back()));
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

  static std::vector<DataTypePtr> typesOf(const Schema& schema, const std::vector<int>& columns) {
    std::vector<DataTypePtr> types;
    for (const int column : columns) types.push_back(schema.fields()[static_cast<size_t>(column)].type);
    return types;
  }

  const Schema& schema_;
  const std::vector<int>& keys_;
  RunningOperator& input_;
  Execution& execution_;
  GroupTable seen_;
  int partition_ = 0;
  std::unique_ptr<BatchReader> reader_;
};

class RunningDeduplicate final : public RunningOperator {
 public:
  RunningDeduplicate(const Schema& schema, const std::vector<int>& keys, std::unique_ptr<RunningOperator> input, Execution& execution)
      : schema_(schema), keys_(keys), input_(std::move(input)), execution_(execution) {}
  int numPartitions() const override { return 1; }
  std::unique_ptr<BatchReader> open(int) override { return std::make_unique<DeduplicateReader>(schema_, keys_, *input_, execution_); }

 private:
  const Schema& schema_;
  const std::vector<int>& keys_;
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
  return describeAggregation("HashAggregate", grouping_, aggregates_);
}

PhysicalDeduplicate::PhysicalDeduplicate(std::vector<int> keys, PhysicalPtr child)
    : PhysicalNode(child->schema(), {child}), keys_(std::move(keys)) {}

std::unique_ptr<RunningOperator> PhysicalDeduplicate::start(Execution& execution) const {
  return std::make_unique<RunningDeduplicate>(*schema(), keys_, children()[0]->start(execution), execution);
}

}  // namespace thalweg
