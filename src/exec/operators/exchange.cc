#include "exec/operators/exchange.h"

#include <algorithm>
#include <mutex>

#include <arrow/record_batch.h>

#include "columnar/key_encoder.h"
#include "columnar/row_hash.h"
#include "exec/operators/key_sample.h"
#include "exec/operators/spread_rows.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

// What adaptive execution makes of an exchange whose number of partitions nobody said: partitions of this
// size, or smaller ones down to a megabyte as long as each core has one.
constexpr int64_t kAdvisoryBytes = int64_t{64} << 20;
constexpr int64_t kLeastBytes = int64_t{1} << 20;

using Rows = std::vector<std::unique_ptr<SpreadRows>>;

// Partitions [first, last) of what was spread, of the rows that came by tasks [firstTask, lastTask), as one.
struct PartRange {
  int first;
  int last;
  size_t firstTask;
  size_t lastTask;
};

class SpreadReader final : public BatchReader {
 public:
  SpreadReader(const Rows& rows, PartRange range, const CancellationToken& cancellation)
      : rows_(rows), range_(range), cancellation_(cancellation), task_(range.firstTask) {}

  std::shared_ptr<arrow::RecordBatch> next() override {
    cancellation_.throwIfCancelled();
    for (; range_.first < range_.last; ++range_.first, task_ = range_.firstTask) {
      for (; task_ < range_.lastTask; ++task_, batch_ = 0) {
        if (batch_ < rows_[task_]->numBatches(range_.first))
          return rows_[task_]->batch(range_.first, batch_++);
      }
    }
    return nullptr;
  }

 private:
  const Rows& rows_;
  PartRange range_;
  const CancellationToken& cancellation_;
  size_t task_;
  int batch_ = 0;
};

class RunningExchange final : public RunningOperator {
 public:
  RunningExchange(Rows rows, std::vector<PartRange> ranges, const CancellationToken& cancellation)
      : rows_(std::move(rows)), ranges_(std::move(ranges)), cancellation_(cancellation) {}
  int numPartitions() const override { return static_cast<int>(ranges_.size()); }
  std::unique_ptr<BatchReader> open(int partition) override {
    return std::make_unique<SpreadReader>(rows_, ranges_[static_cast<size_t>(partition)], cancellation_);
  }

 private:
  Rows rows_;
  std::vector<PartRange> ranges_;
  const CancellationToken& cancellation_;
};

// Which partition each row goes to; of one task.
class RowPlacer {
 public:
  RowPlacer(const PhysicalExchange& node, int numPartitions, int task, EvaluationContext context)
      : spread_(node.spread()),
        numPartitions_(numPartitions),
        next_(task % numPartitions),
        context_(context) {}

  std::vector<int32_t> place(const arrow::RecordBatch& rows) {
    if (spread_.kind == RowSpread::Kind::Hashed) {
      std::vector<DataTypePtr> types;
      for (const ExpressionPtr& key : spread_.keys) types.push_back(key->type());
      return partitionIds(types, keysOf(rows), rows.num_rows(), numPartitions_);
    }
    std::vector<int32_t> partitions(static_cast<size_t>(rows.num_rows()));
    for (int32_t& partition : partitions) {
      partition = next_;
      next_ = (next_ + 1) % numPartitions_;
    }
    return partitions;
  }

  std::vector<std::shared_ptr<arrow::Array>> keysOf(const arrow::RecordBatch& rows) const {
    std::vector<std::shared_ptr<arrow::Array>> keys;
    for (const ExpressionPtr& key : spread_.keys)
      keys.push_back(evaluateToArray(*key, rows, Selection::all(rows.num_rows()), context_));
    return keys;
  }

 private:
  const RowSpread& spread_;
  int numPartitions_;
  int next_;
  EvaluationContext context_;
};

KeyEncoder encoderOf(const RowSpread& spread) {
  std::vector<KeyColumn> columns;
  for (const ExpressionPtr& key : spread.keys) {
    const auto& order = static_cast<const SortOrder&>(*key);
    columns.push_back({order.type(), order.ascending(), order.nullsFirst()});
  }
  return KeyEncoder(std::move(columns));
}

// One run of an exchange.
class ExchangeRun {
 public:
  ExchangeRun(const PhysicalExchange& node, Execution& execution)
      : node_(node), execution_(execution), schema_(toArrowSchema(*node.schema())) {}

  std::unique_ptr<RunningOperator> run(RunningOperator& input) {
    const RowSpread& spread = node_.spread();
    const int count = spread.numPartitions > 0 ? spread.numPartitions : spread.mostPartitions;
    Rows rows = spread.kind == RowSpread::Kind::Ranged ? byRange(input, count) : byRow(input, count);
    std::vector<PartRange> ranges;
    if (spread.numPartitions > 0) {
      for (int i = 0; i < count; ++i) ranges.push_back({i, i + 1, 0, rows.size()});
    } else {
      ranges = bySize(rows, count);
    }
    return std::make_unique<RunningExchange>(std::move(rows), std::move(ranges), execution_.cancellation);
  }

 private:
  std::unique_ptr<SpreadRows> newRows(int numPartitions, std::atomic<int64_t>* held) const {
    return std::make_unique<SpreadRows>(schema_, numPartitions, node_.memoryBytes(), held);
  }

  void forEach(RunningOperator& input, int partition,
               const std::function<void(const std::shared_ptr<arrow::RecordBatch>&)>& consume) {
    const auto reader = input.open(partition);
    while (const auto batch = reader->next()) {
      execution_.cancellation.throwIfCancelled();
      if (batch->num_rows() > 0) consume(batch);
    }
  }

  Rows byRow(RunningOperator& input, int count) {
    Rows rows(static_cast<size_t>(input.numPartitions()));
    execution_.pool->runAll(input.numPartitions(), [&](int task) {
      auto own = newRows(count, &held_);
      RowPlacer placer(node_, count, task, execution_.evaluation(task));
      forEach(input, task, [&](const auto& batch) { own->add(batch, placer.place(*batch)); });
      own->finish();
      rows[static_cast<size_t>(task)] = std::move(own);
    });
    return rows;
  }

  // The ranges follow from all keys, so that the rows are held, looked at, and then spread.
  Rows byRange(RunningOperator& input, int count) {
    const KeyEncoder encoder = encoderOf(node_.spread());
    const auto numTasks = static_cast<size_t>(input.numPartitions());
    Rows whole(numTasks);
    KeySample sample(numTasks);
    std::mutex mutex;  // guards `sample`
    execution_.pool->runAll(input.numPartitions(), [&](int task) {
      auto own = newRows(1, &heldWhole_);
      KeySample ownSample(static_cast<uint64_t>(task));
      const RowPlacer placer(node_, 1, task, execution_.evaluation(task));
      forEach(input, task, [&](const auto& batch) {
        forEachKey(*batch, placer, encoder, [&](int64_t, const std::string& key) { ownSample.add(key); });
        own->add(batch, {});
      });
      own->finish();
      whole[static_cast<size_t>(task)] = std::move(own);
      const std::lock_guard lock(mutex);
      sample.take(std::move(ownSample));
    });
    const std::vector<std::string> bounds = std::move(sample).bounds(count);
    Rows rows(numTasks);
    execution_.pool->runAll(input.numPartitions(), [&](int task) {
      rows[static_cast<size_t>(task)] =
          intoRanges(*whole[static_cast<size_t>(task)], bounds, count, task, encoder);
      whole[static_cast<size_t>(task)].reset();
    });
    return rows;
  }

  std::unique_ptr<SpreadRows> intoRanges(const SpreadRows& whole, const std::vector<std::string>& bounds,
                                         int count, int task, const KeyEncoder& encoder) {
    auto spread = newRows(count, &held_);
    const RowPlacer placer(node_, 1, task, execution_.evaluation(task));
    for (int i = 0; i < whole.numBatches(0); ++i) {
      execution_.cancellation.throwIfCancelled();
      const auto batch = whole.batch(0, i);
      std::vector<int32_t> partitions(static_cast<size_t>(batch->num_rows()));
      forEachKey(*batch, placer, encoder, [&](int64_t row, const std::string& key) {
        const auto range = std::lower_bound(bounds.begin(), bounds.end(), key);
        partitions[static_cast<size_t>(row)] = static_cast<int32_t>(range - bounds.begin());
      });
      spread->add(batch, partitions);
    }
    spread->finish();
    return spread;
  }

  template <typename Use>
  static void forEachKey(const arrow::RecordBatch& rows, const RowPlacer& placer, const KeyEncoder& encoder,
                         Use use) {
    const auto keys = placer.keysOf(rows);
    for (int64_t row = 0; row < rows.num_rows(); ++row) {
      std::string key;
      encoder.append(keys, row, &key);
      use(row, key);
    }
  }

  static void splitByTasks(const Rows& rows, int part, int64_t wanted, std::vector<PartRange>* ranges) {
    ranges->push_back({part, part + 1, 0, 0});
    int64_t bytes = 0;
    for (size_t task = 0; task < rows.size(); ++task) {
      const int64_t own = rows[task]->numBytes(part);
      if (bytes > 0 && bytes + own > wanted) {
        ranges->push_back({part, part + 1, task, task});
        bytes = 0;
      }
      ranges->back().lastTask = task + 1;
      bytes += own;
    }
  }

  // Neighbours together until they are large enough.
  std::vector<PartRange> bySize(const Rows& rows, int count) const {
    std::vector<int64_t> sizes(static_cast<size_t>(count));
    int64_t total = 0;
    for (int i = 0; i < count; ++i) {
      for (const auto& task : rows) sizes[static_cast<size_t>(i)] += task->numBytes(i);
      total += sizes[static_cast<size_t>(i)];
    }
    int64_t wanted = node_.spread().partitionBytes;
    if (wanted == 0)
      wanted = std::min(kAdvisoryBytes, std::max(kLeastBytes, total / execution_.pool->numSlots()));
    // Of rows that only had better be together a large partition may be several.
    const bool splits = node_.spread().partitionBytes > 0;
    std::vector<PartRange> ranges = {{0, 0, 0, rows.size()}};
    int64_t bytes = 0;
    for (int i = 0; i < count; ++i) {
      const int64_t own = sizes[static_cast<size_t>(i)];
      if (splits && own > wanted) {
        if (bytes == 0) ranges.pop_back();
        splitByTasks(rows, i, wanted, &ranges);
        ranges.push_back({i + 1, i + 1, 0, rows.size()});
        bytes = 0;
        continue;
      }
      if (bytes > 0 && bytes + own > wanted) {
        ranges.push_back({i, i, 0, rows.size()});
        bytes = 0;
      }
      ranges.back().last = i + 1;
      bytes += own;
    }
    if (bytes == 0 && ranges.size() > 1) ranges.pop_back();
    return ranges;
  }

  const PhysicalExchange& node_;
  Execution& execution_;
  std::shared_ptr<arrow::Schema> schema_;
  std::atomic<int64_t> held_ = 0;
  std::atomic<int64_t> heldWhole_ = 0;
};

// Input partitions [first, last), one after the other.
class MergedReader final : public BatchReader {
 public:
  MergedReader(RunningOperator& input, int first, int last) : input_(input), next_(first), last_(last) {}
  std::shared_ptr<arrow::RecordBatch> next() override {
    for (;;) {
      if (reader_) {
        if (auto batch = reader_->next()) return batch;
        reader_.reset();
      }
      if (next_ == last_) return nullptr;
      reader_ = input_.open(next_++);
    }
  }

 private:
  RunningOperator& input_;
  int next_, last_;
  std::unique_ptr<BatchReader> reader_;
};

class RunningCoalesce final : public RunningOperator {
 public:
  RunningCoalesce(std::unique_ptr<RunningOperator> input, int numPartitions)
      : input_(std::move(input)), numPartitions_(std::min(numPartitions, input_->numPartitions())) {}
  int numPartitions() const override { return numPartitions_; }
  std::unique_ptr<BatchReader> open(int partition) override {
    const auto begin = [&](int i) {
      return static_cast<int>(int64_t{i} * input_->numPartitions() / numPartitions_);
    };
    return std::make_unique<MergedReader>(*input_, begin(partition), begin(partition + 1));
  }

 private:
  std::unique_ptr<RunningOperator> input_;
  int numPartitions_;
};

}  // namespace

PhysicalCoalesce::PhysicalCoalesce(int numPartitions, PhysicalPtr child)
    : PhysicalNode(child->schema(), {child}), numPartitions_(numPartitions) {}

std::unique_ptr<RunningOperator> PhysicalCoalesce::start(Execution& execution) const {
  return std::make_unique<RunningCoalesce>(children()[0]->start(execution), numPartitions_);
}

std::string PhysicalCoalesce::describe() const {
  return "Coalesce " + std::to_string(numPartitions_);
}

PhysicalExchange::PhysicalExchange(RowSpread spread, PhysicalPtr child, int64_t memoryBytes)
    : PhysicalNode(child->schema(), {child}), spread_(std::move(spread)), memoryBytes_(memoryBytes) {
  if (spread_.kind == RowSpread::Kind::Ranged) encoderOf(spread_);  // throws for keys without an order
}

std::unique_ptr<RunningOperator> PhysicalExchange::start(Execution& execution) const {
  const auto input = children()[0]->start(execution);
  return ExchangeRun(*this, execution).run(*input);
}

std::string PhysicalExchange::describe() const {
  return "Exchange " + describeSpread(spread_);
}

}  // namespace thalweg
