#include "exec/operators/scans.h"

#include <algorithm>

#include <arrow/api.h>

#include "expr/constant_folding.h"
#include "plan/optimize/optimizer.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

constexpr int64_t kBatchRows = 65536;

// Opens splits; counts rows where asked.
class RunningSplits final : public RunningOperator {
 public:
  RunningSplits(std::vector<SplitPtr> splits, std::vector<int> columns, Execution& execution, std::atomic<int64_t>* rows)
      : splits_(std::move(splits)), columns_(std::move(columns)), execution_(execution), rows_(rows) {}
  int numPartitions() const override { return static_cast<int>(splits_.size()); }
  std::unique_ptr<BatchReader> open(int partition) override {
    ReadRequest request;
    request.columns = columns_;
    request.cancellation = &execution_.cancellation;
    auto reader = splits_[static_cast<size_t>(partition)]->open(request);
    if (!rows_) return reader;
    return std::make_unique<CountingReader>(std::move(reader), *rows_);
  }

 private:
  class CountingReader final : public BatchReader {
   public:
    CountingReader(std::unique_ptr<BatchReader> input, std::atomic<int64_t>& rows) : input_(std::move(input)), rows_(rows) {}
    std::shared_ptr<arrow::RecordBatch> next() override {
      auto batch = input_->next();
      if (batch) rows_.fetch_add(batch->num_rows(), std::memory_order_relaxed);
      return batch;
    }

   private:
    std::unique_ptr<BatchReader> input_;
    std::atomic<int64_t>& rows_;
  };

  std::vector<SplitPtr> splits_;
  std::vector<int> columns_;
  Execution& execution_;
  std::atomic<int64_t>* rows_;
};

class RunningLocal final : public RunningOperator {
 public:
  explicit RunningLocal(const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches) : batches_(batches) {}
  int numPartitions() const override { return 1; }
  std::unique_ptr<BatchReader> open(int) override { return readBatches(batches_); }

 private:
  const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches_;
};

class RangeReader final : public BatchReader {
 public:
  // Rows first … last − 1 of start + row · step.
  RangeReader(const SchemaPtr& schema, int64_t start, int64_t step, int64_t first, int64_t last)
      : schema_(toArrowSchema(*schema)), start_(start), step_(step), next_(first), last_(last) {}
  std::shared_ptr<arrow::RecordBatch> next() override {
    if (next_ >= last_) return nullptr;
    const int64_t count = std::min(kBatchRows, last_ - next_);
    arrow::Int64Builder builder;
    throwIfFailed(builder.Reserve(count));
    for (int64_t i = 0; i < count; ++i) builder.UnsafeAppend(start_ + (next_ + i) * step_);
    next_ += count;
    arrow::ArrayVector columns;
    if (schema_->num_fields() > 0) columns.push_back(valueOrThrow(builder.Finish()));
    return arrow::RecordBatch::Make(schema_, count, std::move(columns));
  }

 private:
  std::shared_ptr<arrow::Schema> schema_;
  int64_t start_, step_, next_, last_;
};

class RunningRange final : public RunningOperator {
 public:
  RunningRange(const SchemaPtr& schema, int64_t start, int64_t step, int64_t count, int partitions)
      : schema_(schema), start_(start), step_(step), count_(count), partitions_(partitions) {}
  int numPartitions() const override { return partitions_; }
  std::unique_ptr<BatchReader> open(int partition) override {
    const auto border = [&](int p) { return static_cast<int64_t>(static_cast<__int128>(count_) * p / partitions_); };
    return std::make_unique<RangeReader>(schema_, start_, step_, border(partition), border(partition + 1));
  }

 private:
  const SchemaPtr& schema_;
  int64_t start_, step_, count_;
  int partitions_;
};

}  // namespace

PhysicalTableScan::PhysicalTableScan(SchemaPtr schema, std::shared_ptr<Table> table, std::vector<int> columns,
                                     std::vector<ExpressionPtr> conditions)
    : PhysicalNode(std::move(schema), {}), table_(std::move(table)), columns_(std::move(columns)), conditions_(std::move(conditions)) {}

std::unique_ptr<RunningOperator> PhysicalTableScan::start(Execution& execution) const {
  const auto newer = execution.newerTables.find(table_.get());
  const Table& table = newer == execution.newerTables.end() ? *table_ : *newer->second;
  std::vector<ColumnPredicate> predicates;
  for (const ExpressionPtr& condition : conditions_) {
    auto more = columnPredicates(foldConstants(condition, execution.evaluation(), Foldability::OncePerBatch));
    std::move(more.begin(), more.end(), std::back_inserter(predicates));
  }
  return std::make_unique<RunningSplits>(table.planScan(predicates), columns_, execution, nullptr);
}

std::string PhysicalTableScan::describe() const { return "Scan " + table_->description() + " " + schema()->simpleString(); }

PhysicalStreamScan::PhysicalStreamScan(SchemaPtr schema, std::string format, int sourceIndex, std::vector<int> columns)
    : PhysicalNode(std::move(schema), {}), format_(std::move(format)), sourceIndex_(sourceIndex), columns_(std::move(columns)) {}

std::unique_ptr<RunningOperator> PhysicalStreamScan::start(Execution& execution) const {
  const auto index = static_cast<size_t>(sourceIndex_);
  return std::make_unique<RunningSplits>(execution.streamSplits[index], columns_, execution, &execution.streamRows[index]);
}

std::string PhysicalStreamScan::describe() const { return "MicroBatchScan " + format_ + " " + schema()->simpleString(); }

PhysicalLocalRelation::PhysicalLocalRelation(SchemaPtr schema, std::vector<std::shared_ptr<arrow::RecordBatch>> batches)
    : PhysicalNode(std::move(schema), {}), batches_(std::move(batches)) {}

std::unique_ptr<RunningOperator> PhysicalLocalRelation::start(Execution&) const {
  return std::make_unique<RunningLocal>(batches_);
}

PhysicalRange::PhysicalRange(SchemaPtr schema, int64_t start, int64_t end, int64_t step, int partitions)
    : PhysicalNode(std::move(schema), {}), start_(start), end_(end), step_(step), partitions_(std::max(1, partitions)) {}

std::unique_ptr<RunningOperator> PhysicalRange::start(Execution&) const {
  const __int128 distance = static_cast<__int128>(end_) - start_;
  const bool empty = distance == 0 || (distance > 0) != (step_ > 0);
  const __int128 count = empty ? 0 : (distance + step_ - (step_ > 0 ? 1 : -1)) / step_;
  // The client names the number of partitions: no more than there are rows, and few enough to be tasks.
  constexpr __int128 kMostPartitions = 1024;
  const auto partitions = static_cast<int>(std::clamp<__int128>(partitions_, 1, std::clamp<__int128>(count, 1, kMostPartitions)));
  return std::make_unique<RunningRange>(schema(), start_, step_, static_cast<int64_t>(count), partitions);
}

std::string PhysicalRange::describe() const {
  return "Range (" + std::to_string(start_) + ", " + std::to_string(end_) + ", step=" + std::to_string(step_) +
         ", splits=" + std::to_string(partitions_) + ")";
}

}  // namespace thalweg
