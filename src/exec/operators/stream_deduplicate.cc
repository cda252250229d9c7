#include "exec/operators/stream_deduplicate.h"

#include <algorithm>

#include <arrow/api.h>

#include "columnar/row_hash.h"
#include "common/logging.h"
#include "exec/operators/groups.h"
#include "exec/operators/project_filter.h"
#include "exec/operators/state_output.h"

namespace thalweg {
namespace {

using Batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;

// The rows of one input partition that the state did not know when the batch began, the first of each key
// among them. A candidate's number is its key's in `keys`.
struct Candidates {
  BinaryKeyTable keys;
  std::vector<std::optional<int64_t>> ends;
  std::vector<std::vector<uint32_t>> ofPartition;  // candidates by the state's partition
  Batches batches;                                 // the candidates' rows, in order
  std::vector<uint8_t> isFirst;                    // of their keys, among all input partitions
  int64_t numRows = 0, numLate = 0;
};

class CandidateReader final : public BatchReader {
 public:
  CandidateReader(Candidates& candidates, arrow::MemoryPool* pool) : candidates_(candidates), pool_(pool) {}
  std::shared_ptr<arrow::RecordBatch> next() override {
    while (at_ < candidates_.batches.size()) {
      const auto batch = std::move(candidates_.batches[at_++]);
      std::vector<int32_t> rows;
      for (int64_t row = 0; row < batch->num_rows(); ++row, ++candidate_) {
        if (candidates_.isFirst[candidate_]) rows.push_back(static_cast<int32_t>(row));
      }
      if (static_cast<int64_t>(rows.size()) == batch->num_rows()) return batch;
      if (!rows.empty()) return takeRows(batch, rows, pool_);
    }
    return nullptr;
  }

 private:
  Candidates& candidates_;
  arrow::MemoryPool* pool_;
  size_t at_ = 0;
  size_t candidate_ = 0;
};

class FirstRows final : public RunningOperator {
 public:
  FirstRows(std::vector<Candidates> parts, Execution& execution)
      : parts_(std::move(parts)), execution_(execution) {}
  int numPartitions() const override { return static_cast<int>(parts_.size()); }
  std::unique_ptr<BatchReader> open(int partition) override {
    return std::make_unique<CandidateReader>(parts_[static_cast<size_t>(partition)],
                                             execution_.evaluation(partition).memoryPool());
  }

 private:
  std::vector<Candidates> parts_;
  Execution& execution_;
};

DedupStateLayout::Keep keepOf(const StreamDeduplication& deduplication) {
  if (deduplication.withinDelayMs) return DedupStateLayout::Keep::UntilExpiry;
  return deduplication.eventTimeKey ? DedupStateLayout::Keep::UntilEventTime : DedupStateLayout::Keep::Always;
}

}  // namespace

// One batch's run over all partitions of the state.
class StreamDeduplicateRun {
 public:
  StreamDeduplicateRun(const PhysicalStreamDeduplicate& node, Execution& execution)
      : node_(node),
        what_(node.deduplication_),
        execution_(execution),
        state_(*execution.states.at(static_cast<size_t>(node.operatorId()))),
        watermarks_(execution.watermarks.at(static_cast<size_t>(node.operatorId()))),
        keyTypes_(typesOf(what_.keys)) {}

  std::unique_ptr<RunningOperator> run(RunningOperator& input) {
    std::vector<Candidates> parts(static_cast<size_t>(input.numPartitions()));
    execution_.pool->runAll(input.numPartitions(), [&](int partition) {
      collect(input, partition, &parts[static_cast<size_t>(partition)]);
    });
    execution_.pool->runAll(state_.numPartitions(), [&](int partition) {
      execution_.cancellation.throwIfCancelled();
      addAndRemove(partition, &parts);
    });
    StateMetrics& metrics = state_.metrics();
    for (const Candidates& part : parts) {
      metrics.rowsDroppedByWatermark += part.numLate;
      metrics.duplicatesDropped += part.numRows - part.numLate;
    }
    metrics.duplicatesDropped -= metrics.rowsUpdated;
    return std::make_unique<FirstRows>(std::move(parts), execution_);
  }

 private:
  void collect(RunningOperator& input, int partition, Candidates* candidates) {
    candidates->ofPartition.resize(static_cast<size_t>(state_.numPartitions()));
    const EvaluationContext context = execution_.evaluation(partition);
    const auto reader = input.open(partition);
    while (const auto batch = reader->next()) {
      execution_.cancellation.throwIfCancelled();
      if (batch->num_rows() > 0) collectBatch(batch, context, candidates);
    }
    candidates->isFirst.resize(static_cast<size_t>(candidates->keys.size()));
  }

  void collectBatch(const std::shared_ptr<arrow::RecordBatch>& batch, const EvaluationContext& context,
                    Candidates* candidates) {
    const MetricStopwatch watch(state_.metrics().updatesMs);
    candidates->numRows += batch->num_rows();
    const Selection all = Selection::all(batch->num_rows());
    const auto columns = evaluateAll(what_.keys, *batch, all, context);
    std::shared_ptr<arrow::Array> times;
    if (what_.eventTime) times = evaluateToArray(*what_.eventTime, *batch, all, context);
    BinaryRows keys;
    node_.layout_.keyEncoder.encode(columns, 0, batch->num_rows(), &keys);
    const std::vector<int32_t> partitions =
        partitionIds(keyTypes_, columns, batch->num_rows(), state_.numPartitions());
    const std::vector<uint8_t> skipped = lateOrKnown(keys, partitions, times.get(), candidates);
    std::vector<int32_t> unknown;
    std::vector<std::string_view> unknownKeys;
    for (size_t row = 0; row < skipped.size(); ++row) {
      if (skipped[row]) continue;
      unknown.push_back(static_cast<int32_t>(row));
      unknownKeys.push_back(keys[row]);
    }
    std::vector<uint32_t> numbers, added;
    candidates->keys.findOrAdd(unknownKeys, &numbers, &added);
    std::vector<int32_t> rows;
    for (const uint32_t i : added) {
      const int32_t row = unknown[i];
      rows.push_back(row);
      candidates->ofPartition[static_cast<size_t>(partitions[static_cast<size_t>(row)])].push_back(
          numbers[i]);
      candidates->ends.push_back(endOf(timeOf(times.get(), row)));
    }
    if (!rows.empty()) candidates->batches.push_back(takeRows(batch, rows, context.memoryPool()));
  }

  // Of each row: is there nothing to do about it?
  std::vector<uint8_t> lateOrKnown(const BinaryRows& keys, const std::vector<int32_t>& partitions,
                                   const arrow::Array* times, Candidates* candidates) {
    std::vector<uint8_t> skipped(partitions.size());
    std::vector<std::vector<uint32_t>> rowsOf(static_cast<size_t>(state_.numPartitions()));
    for (uint32_t row = 0; row < partitions.size(); ++row) {
      skipped[row] = isLate(timeOf(times, row));
      candidates->numLate += skipped[row];
      if (!skipped[row]) rowsOf[static_cast<size_t>(partitions[row])].push_back(row);
    }
    std::vector<std::string_view> keysOf;
    std::vector<uint8_t> known;
    for (size_t partition = 0; partition < rowsOf.size(); ++partition) {
      keysOf.clear();
      for (const uint32_t row : rowsOf[partition]) keysOf.push_back(keys[row]);
      stateOf(static_cast<int>(partition)).lookUp(keysOf, &known);
      for (size_t i = 0; i < known.size(); ++i) skipped[rowsOf[partition][i]] = known[i];
    }
    return skipped;
  }

  static std::optional<int64_t> timeOf(const arrow::Array* times, int64_t row) {
    if (!times || times->IsNull(row)) return std::nullopt;
    return static_cast<const arrow::TimestampArray&>(*times).Value(row);
  }

  bool isLate(std::optional<int64_t> time) const {
    return time && *time <= watermarks_.lateMs * kMicrosPerMilli;
  }

  std::optional<int64_t> endOf(std::optional<int64_t> time) const {
    // Spark takes a missing event time for 1970.
    if (what_.withinDelayMs) return time.value_or(0) + *what_.withinDelayMs * kMicrosPerMilli;
    return what_.eventTimeKey ? time : std::nullopt;
  }

  DedupState& stateOf(int partition) { return static_cast<DedupState&>(state_.partition(0, partition)); }

  void addAndRemove(int partition, std::vector<Candidates>* parts) {
    DedupState& state = stateOf(partition);
    StateMetrics& metrics = state_.metrics();
    {
      const MetricStopwatch watch(metrics.updatesMs);
      for (Candidates& part : *parts) addFirst(part, partition, &state);
      metrics.rowsUpdated += state.numAdded();
    }
    const MetricStopwatch watch(metrics.removalsMs);
    metrics.rowsRemoved += state.removeEnded(watermarks_.evictionMs * kMicrosPerMilli);
  }

  static void addFirst(Candidates& part, int partition, DedupState* state) {
    const std::vector<uint32_t>& candidates = part.ofPartition[static_cast<size_t>(partition)];
    std::vector<std::string_view> keys;
    std::vector<std::optional<int64_t>> ends;
    for (const uint32_t candidate : candidates) {
      keys.push_back(part.keys.key(candidate));
      ends.push_back(part.ends[candidate]);
    }
    std::vector<uint32_t> added;
    state->add(keys, ends, &added);
    for (const uint32_t i : added) part.isFirst[candidates[i]] = 1;
  }

  const PhysicalStreamDeduplicate& node_;
  const StreamDeduplication& what_;
  Execution& execution_;
  OperatorState& state_;
  BatchWatermarks watermarks_;
  std::vector<DataTypePtr> keyTypes_;
};

PhysicalStreamDeduplicate::PhysicalStreamDeduplicate(StreamDeduplication deduplication, int operatorId,
                                                     PhysicalPtr child)
    : StatefulNode(child->schema(), {child}, operatorId),
      deduplication_(std::move(deduplication)),
      layout_(deduplication_.keyFields, keepOf(deduplication_), deduplication_.eventTimeKey) {
  if (layout_.keep != DedupStateLayout::Keep::Always) return;
  logWarn(
      "A deduplication keeps its keys for ever, and its state grows with every new one. To bound it, put the "
      "column with the watermark among the keys, or use dropDuplicatesWithinWatermark.");
}

std::unique_ptr<RunningOperator> PhysicalStreamDeduplicate::start(Execution& execution) const {
  const auto input = children()[0]->start(execution);
  return StreamDeduplicateRun(*this, execution).run(*input);
}

std::string PhysicalStreamDeduplicate::describe() const {
  std::string text =
      deduplication_.withinDelayMs ? "StreamingDeduplicateWithinWatermark [" : "StreamingDeduplicate [";
  for (size_t i = 0; i < deduplication_.keys.size(); ++i)
    text += (i ? ", " : "") + deduplication_.keys[i]->toString();
  return text + "], state " + std::to_string(operatorId());
}

std::string PhysicalStreamDeduplicate::operatorName() const {
  return deduplication_.withinDelayMs ? "dedupeWithinWatermark" : "dedupe";
}

std::vector<StoreDefinition> PhysicalStreamDeduplicate::stores() const {
  return {{kDefaultStateStore, layout_.key, layout_.value, 0}};
}

std::vector<std::unique_ptr<StorePartition>> PhysicalStreamDeduplicate::makePartition() const {
  std::vector<std::unique_ptr<StorePartition>> stores;
  stores.push_back(std::make_unique<DedupState>(layout_));
  return stores;
}

}  // namespace thalweg
