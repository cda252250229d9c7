#include "exec/operators/stateful_aggregate.h"

#include <algorithm>
#include <unordered_set>

#include <arrow/record_batch.h>

#include "common/error.h"
#include "exec/operators/groups.h"
#include "exec/operators/state_output.h"

namespace thalweg {
namespace {

using Batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;

std::vector<StructField> firstFields(const Schema& schema, size_t count) {
  return {schema.fields().begin(), schema.fields().begin() + static_cast<int64_t>(count)};
}

}  // namespace

// One batch's run over all partitions of the state.
class StatefulAggregateRun {
 public:
  StatefulAggregateRun(const PhysicalStatefulAggregate& node, Execution& execution)
      : node_(node),
        execution_(execution),
        state_(*execution.states.at(static_cast<size_t>(node.operatorId()))) {}

  std::unique_ptr<RunningOperator> run(RunningOperator& input) {
    groupInput(input);
    std::vector<Batches> results(static_cast<size_t>(state_.numPartitions()));
    execution_.pool->runAll(state_.numPartitions(), [&](int partition) {
      execution_.cancellation.throwIfCancelled();
      results[static_cast<size_t>(partition)] = runPartition(partition);
    });
    return outputOf(std::move(results), std::min(state_.numPartitions(), execution_.pool->numSlots()));
  }

 private:
  void groupInput(RunningOperator& input) {
    const auto count = static_cast<size_t>(input.numPartitions());
    groups_.resize(count);
    parts_.resize(count);
    execution_.pool->runAll(input.numPartitions(), [&](int partition) {
      const auto i = static_cast<size_t>(partition);
      groups_[i] = groupPartition(input, partition, execution_, node_.grouping_, node_.aggregates_);
      parts_[i] = std::make_unique<PartialGroups>(node_.layout_, *groups_[i], state_.numPartitions());
    });
  }

  Batches runPartition(int partition) {
    auto& state = static_cast<AggregateState&>(state_.partition(0, partition));
    StateMetrics& metrics = state_.metrics();
    {
      const MetricStopwatch watch(metrics.updatesMs);
      // In order of the input's partitions: results that depend on order (first) are the same on every run.
      std::unordered_set<std::string_view> late;
      for (const auto& part : parts_) {
        std::vector<uint32_t> groups = part->ofPartition[static_cast<size_t>(partition)];
        dropLate(*part, &groups, &late);
        state.merge(*part, groups);
      }
      metrics.rowsUpdated += static_cast<int64_t>(state.touched().size());
      metrics.rowsDroppedByWatermark += static_cast<int64_t>(late.size());
    }
    return emit(state);
  }

  void dropLate(const PartialGroups& part, std::vector<uint32_t>* groups,
                std::unordered_set<std::string_view>* late) const {
    if (!node_.layout_.eventTime || node_.mode_ == OutputMode::Complete) return;
    const int64_t watermark = execution_.watermarks.lateMs * kMicrosPerMilli;
    std::erase_if(*groups, [&](uint32_t group) {
      const auto& time = part.times[group];
      if (!time || *time > watermark) return false;
      late->insert(part.keys[group]);
      return true;
    });
  }

  Batches emit(AggregateState& state) {
    const Schema& schema = *node_.schema();
    if (node_.mode_ == OutputMode::Complete) return state.results(schema, state.all());
    StateMetrics& metrics = state_.metrics();
    Batches rows;
    if (node_.mode_ == OutputMode::Update) rows = state.results(schema, state.touched());
    if (!node_.layout_.eventTime) return rows;
    const MetricStopwatch watch(metrics.removalsMs);
    const std::vector<uint32_t> expired =
        state.takeExpired(execution_.watermarks.evictionMs * kMicrosPerMilli);
    if (node_.mode_ == OutputMode::Append) rows = state.results(schema, expired);
    state.remove(expired);
    metrics.rowsRemoved += static_cast<int64_t>(expired.size());
    return rows;
  }

  const PhysicalStatefulAggregate& node_;
  Execution& execution_;
  OperatorState& state_;
  std::vector<std::unique_ptr<Groups>> groups_;
  std::vector<std::unique_ptr<PartialGroups>> parts_;
};

PhysicalStatefulAggregate::PhysicalStatefulAggregate(SchemaPtr schema, std::vector<ExpressionPtr> grouping,
                                                     Aggregates aggregates, OutputMode mode,
                                                     std::optional<EventTimeKey> eventTime, int operatorId,
                                                     PhysicalPtr child)
    : StatefulNode(schema, {std::move(child)}, operatorId),
      grouping_(std::move(grouping)),
      aggregates_(std::move(aggregates)),
      mode_(mode),
      layout_(firstFields(*schema, grouping_.size()), aggregates_, eventTime) {}

std::unique_ptr<RunningOperator> PhysicalStatefulAggregate::start(Execution& execution) const {
  const auto input = children()[0]->start(execution);
  return StatefulAggregateRun(*this, execution).run(*input);
}

std::string PhysicalStatefulAggregate::describe() const {
  return describeAggregation("StateStoreSave", grouping_, aggregates_) + ", state " + std::to_string(operatorId());
}

std::vector<StoreDefinition> PhysicalStatefulAggregate::stores() const {
  return {{kDefaultStateStore, DataType::structOf(layout_.keyFields), DataType::structOf(layout_.valueFields),
           0}};
}

std::unique_ptr<StorePartition> PhysicalStatefulAggregate::makePartition(size_t) const {
  return std::make_unique<AggregateState>(layout_);
}

std::string PhysicalStatefulAggregate::fingerprint() const {
  std::string text;
  for (const auto& aggregate : aggregates_) text += (text.empty() ? "" : ",") + aggregate->spec().name;
  return text;
}

bool PhysicalStatefulAggregate::wantsAnotherBatch(int64_t usedWatermarkMs, int64_t watermarkMs) const {
  return mode_ != OutputMode::Complete && watermarkMs > usedWatermarkMs;
}

}  // namespace thalweg
