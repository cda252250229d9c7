#include "exec/operators/sort_limit.h"

#include <numeric>

#include <arrow/api.h>

#include "columnar/key_encoder.h"
#include "exec/operators/project_filter.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

constexpr int64_t kOutputRows = 65536;

// Where a row lies, and its encoded key in the arena.
struct SortEntry {
  size_t keyOffset;
  uint32_t keySize;
  uint32_t batch;
  uint32_t row;
};

// Puts rows in the order of a node. Used once.
class Sorter {
 public:
  Sorter(const PhysicalSort& node, Execution& execution, int partition)
      : node_(node), execution_(execution), context_(execution.evaluation(partition)) {}

  std::vector<std::shared_ptr<arrow::RecordBatch>> sorted(const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches) {
    if (batches.empty()) return {};
    std::string arena;
    std::vector<SortEntry> entries = encodeKeys(batches, &arena);
    auto keyOf = [&](const SortEntry& e) { return std::string_view(arena).substr(e.keyOffset, e.keySize); };
    // Equal keys keep the order in which they came.
    auto before = [&](const SortEntry& a, const SortEntry& b) {
      const int order = keyOf(a).compare(keyOf(b));
      return order != 0 ? order < 0 : std::tie(a.batch, a.row) < std::tie(b.batch, b.row);
    };
    if (node_.limit() >= 0 && static_cast<size_t>(node_.limit()) < entries.size()) {
      std::partial_sort(entries.begin(), entries.begin() + node_.limit(), entries.end(), before);
      entries.resize(static_cast<size_t>(node_.limit()));
    } else {
      std::sort(entries.begin(), entries.end(), before);
    }
    return gather(batches, entries);
  }

 private:
  std::vector<SortEntry> encodeKeys(const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches, std::string* arena) {
    std::vector<KeyColumn> columns;
    for (const ExpressionPtr& expression : node_.orders()) {
      const auto& order = static_cast<const SortOrder&>(*expression);
      columns.push_back({order.type(), order.ascending(), order.nullsFirst()});
    }
    const KeyEncoder encoder(std::move(columns));
    std::vector<SortEntry> entries;
    for (uint32_t b = 0; b < batches.size(); ++b) {
      execution_.cancellation.throwIfCancelled();
      const Selection all = Selection::all(batches[b]->num_rows());
      std::vector<std::shared_ptr<arrow::Array>> keys;
      for (const ExpressionPtr& order : node_.orders()) keys.push_back(evaluateToArray(*order, *batches[b], all, context_));
      for (int64_t row = 0; row < batches[b]->num_rows(); ++row) {
        const size_t offset = arena->size();
        encoder.append(keys, row, arena);
        entries.push_back({offset, static_cast<uint32_t>(arena->size() - offset), b, static_cast<uint32_t>(row)});
      }
    }
    return entries;
  }

  std::vector<std::shared_ptr<arrow::RecordBatch>> gather(const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches,
                                                          const std::vector<SortEntry>& entries) {
    const auto schema = toArrowSchema(*node_.schema());
    arrow::MemoryPool* pool = context_.memoryPool();
    std::vector<std::shared_ptr<arrow::RecordBatch>> sorted;
    for (size_t at = 0; at < entries.size(); at += kOutputRows) {
      const size_t end = std::min(entries.size(), at + kOutputRows);
      arrow::ArrayVector columns;
      for (int c = 0; c < schema->num_fields(); ++c) {
        std::unique_ptr<arrow::ArrayBuilder> builder;
        throwIfFailed(arrow::MakeBuilder(pool, schema->field(c)->type(), &builder));
        throwIfFailed(builder->Reserve(static_cast<int64_t>(end - at)));
        for (size_t i = at; i < end; ++i) {
          throwIfFailed(builder->AppendArraySlice(arrow::ArraySpan(*batches[entries[i].batch]->column_data(c)), entries[i].row, 1));
        }
        columns.push_back(valueOrThrow(builder->Finish()));
      }
      sorted.push_back(arrow::RecordBatch::Make(schema, static_cast<int64_t>(end - at), std::move(columns)));
    }
    return sorted;
  }

  const PhysicalSort& node_;
  Execution& execution_;
  EvaluationContext context_;
};

class RunningSort final : public SinglePartition {
 public:
  RunningSort(const PhysicalSort& node, std::unique_ptr<RunningOperator> input, Execution& execution)
      : node_(node), input_(std::move(input)), execution_(execution) {}

 protected:
  std::vector<std::shared_ptr<arrow::RecordBatch>> produce() override {
    return Sorter(node_, execution_, 0).sorted(collectAll(*input_, execution_));
  }

 private:
  const PhysicalSort& node_;
  std::unique_ptr<RunningOperator> input_;
  Execution& execution_;
};

// A partition in order. It is read whole when its first row is asked for.
class SortedReader final : public BatchReader {
 public:
  SortedReader(std::unique_ptr<BatchReader> input, Sorter sorter, const Execution& execution)
      : input_(std::move(input)), sorter_(std::move(sorter)), execution_(execution) {}

  std::shared_ptr<arrow::RecordBatch> next() override {
    if (!sorted_) sorted_ = readBatches(sorter_.sorted(readAll()));
    return sorted_->next();
  }

 private:
  std::vector<std::shared_ptr<arrow::RecordBatch>> readAll() {
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
    while (auto batch = input_->next()) {
      execution_.cancellation.throwIfCancelled();
      batches.push_back(std::move(batch));
    }
    return batches;
  }

  std::unique_ptr<BatchReader> input_;
  Sorter sorter_;
  const Execution& execution_;
  std::unique_ptr<BatchReader> sorted_;
};

class LimitReader final : public BatchReader {
 public:
  LimitReader(RunningOperator& input, int64_t limit, int64_t offset) : input_(input), left_(limit), skip_(offset) {}

  std::shared_ptr<arrow::RecordBatch> next() override {
    while (left_ != 0 && partition_ < input_.numPartitions()) {
      if (!reader_) reader_ = input_.open(partition_);
      auto batch = reader_->next();
      if (!batch) {
        reader_ = nullptr;
        ++partition_;
        continue;
      }
      if (skip_ >= batch->num_rows()) {
        skip_ -= batch->num_rows();
        continue;
      }
      batch = batch->Slice(skip_);
      skip_ = 0;
      if (left_ >= 0) {
        batch = batch->Slice(0, left_);
        left_ -= batch->num_rows();
      }
      return batch;
    }
    return nullptr;
  }

 private:
  RunningOperator& input_;
  int64_t left_;
  int64_t skip_;
  int partition_ = 0;
  std::unique_ptr<BatchReader> reader_;
};

class RunningLimit final : public RunningOperator {
 public:
  RunningLimit(std::unique_ptr<RunningOperator> input, int64_t limit, int64_t offset)
      : input_(std::move(input)), limit_(limit), offset_(offset) {}
  int numPartitions() const override { return 1; }
  std::unique_ptr<BatchReader> open(int) override { return std::make_unique<LimitReader>(*input_, limit_, offset_); }

 private:
  std::unique_ptr<RunningOperator> input_;
  int64_t limit_, offset_;
};

class RunningTail final : public SinglePartition {
 public:
  RunningTail(std::unique_ptr<RunningOperator> input, int64_t limit, Execution& execution)
      : input_(std::move(input)), limit_(limit), execution_(execution) {}

 protected:
  std::vector<std::shared_ptr<arrow::RecordBatch>> produce() override {
    auto batches = collectAll(*input_, execution_);
    int64_t total = 0;
    for (const auto& batch : batches) total += batch->num_rows();
    int64_t skip = std::max<int64_t>(0, total - limit_);
    std::vector<std::shared_ptr<arrow::RecordBatch>> last;
    for (const auto& batch : batches) {
      if (skip >= batch->num_rows()) {
        skip -= batch->num_rows();
        continue;
      }
      last.push_back(batch->Slice(skip));
      skip = 0;
    }
    return last;
  }

 private:
  std::unique_ptr<RunningOperator> input_;
  int64_t limit_;
  Execution& execution_;
};

class RunningUnion final : public RunningOperator {
 public:
  explicit RunningUnion(std::vector<std::unique_ptr<RunningOperator>> inputs, std::shared_ptr<arrow::Schema> schema)
      : inputs_(std::move(inputs)), schema_(std::move(schema)) {}
  int numPartitions() const override {
    int total = 0;
    for (const auto& input : inputs_) total += input->numPartitions();
    return total;
  }
  std::unique_ptr<BatchReader> open(int partition) override {
    for (const auto& input : inputs_) {
      if (partition < input->numPartitions()) return std::make_unique<Renaming>(input->open(partition), schema_);
      partition -= input->numPartitions();
    }
    throw internalError("A union has no partition " + std::to_string(partition) + ".");
  }

 private:
  // Batches of every input go by the union's names.
  class Renaming final : public BatchReader {
   public:
    Renaming(std::unique_ptr<BatchReader> input, std::shared_ptr<arrow::Schema> schema)
        : input_(std::move(input)), schema_(std::move(schema)) {}
    std::shared_ptr<arrow::RecordBatch> next() override {
      auto batch = input_->next();
      return batch ? arrow::RecordBatch::Make(schema_, batch->num_rows(), batch->columns()) : nullptr;
    }

   private:
    std::unique_ptr<BatchReader> input_;
    std::shared_ptr<arrow::Schema> schema_;
  };
  std::vector<std::unique_ptr<RunningOperator>> inputs_;
  std::shared_ptr<arrow::Schema> schema_;
};

}  // namespace

PhysicalSort::PhysicalSort(std::vector<ExpressionPtr> orders, SortedRows rows, int64_t limit, PhysicalPtr child)
    : PhysicalNode(child->schema(), {child}), orders_(std::move(orders)), rows_(rows), limit_(limit) {
  std::vector<KeyColumn> columns;
  for (const ExpressionPtr& order : orders_) columns.push_back({order->type()});
  KeyEncoder checkOrderable(std::move(columns));
}

std::unique_ptr<RunningOperator> PhysicalSort::start(Execution& execution) const {
  auto input = children()[0]->start(execution);
  if (rows_ == SortedRows::All) return std::make_unique<RunningSort>(*this, std::move(input), execution);
  return wrapReaders(std::move(input), [this, &execution](std::unique_ptr<BatchReader> reader, int partition) {
    return std::make_unique<SortedReader>(std::move(reader), Sorter(*this, execution, partition), execution);
  });
}

std::string PhysicalSort::describe() const {
  std::string text = limit_ >= 0 ? "TakeOrdered(limit=" + std::to_string(limit_) + ", [" : "Sort([";
  if (rows_ == SortedRows::OfEachPartition) text = "SortWithinPartitions([";
  for (size_t i = 0; i < orders_.size(); ++i) text += (i ? ", " : "") + orders_[i]->toString();
  return text + "])";
}

PhysicalLimit::PhysicalLimit(int64_t limit, int64_t offset, bool tail, PhysicalPtr child)
    : PhysicalNode(child->schema(), {child}), limit_(limit), offset_(offset), tail_(tail) {}

std::unique_ptr<RunningOperator> PhysicalLimit::start(Execution& execution) const {
  auto input = children()[0]->start(execution);
  if (tail_) return std::make_unique<RunningTail>(std::move(input), limit_, execution);
  return std::make_unique<RunningLimit>(std::move(input), limit_, offset_);
}

std::string PhysicalLimit::describe() const {
  return (tail_ ? "Tail " : "Limit ") + std::to_string(limit_) + (offset_ ? ", offset " + std::to_string(offset_) : "");
}

PhysicalUnion::PhysicalUnion(SchemaPtr schema, std::vector<PhysicalPtr> children) : PhysicalNode(std::move(schema), std::move(children)) {}

std::unique_ptr<RunningOperator> PhysicalUnion::start(Execution& execution) const {
  std::vector<std::unique_ptr<RunningOperator>> inputs;
  for (const PhysicalPtr& child : children()) inputs.push_back(child->start(execution));
  return std::make_unique<RunningUnion>(std::move(inputs), toArrowSchema(*schema()));
}

}  // namespace thalweg
