#include "exec/operators/stateful_aggregate.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <unordered_set>

#include <arrow/record_batch.h>

#include "common/error.h"
#include "exec/operators/groups.h"
#include "exec/operators/state_output.h"

namespace thalweg {
namespace {

using Batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;

}  // namespace

// One batch's run over all partitions of the state.
class StatefulAggregateRun {
 public:
  StatefulAggregateRun(const PhysicalStatefulAggregate& node, Execution& execution)
      : node_(node),
        execution_(execution),
        state_(*execution.states.at(static_cast<size_t>(node.operatorId()))),
        watermarks_(execution.watermarks.at(static_cast<size_t>(node.operatorId()))) {}

  std::unique_ptr<RunningOperator> run(RunningOperator& input) {
    groupInput(input);
    return runStatePartitions(execution_, state_.numPartitions(),
                              [&](int partition) { return runPartition(partition); });
  }

 private:
  void groupInput(RunningOperator& input) {
    std::vector<std::unique_ptr<PartialGroups>> groups(static_cast<size_t>(input.numPartitions()));
    execution_.pool->runAll(input.numPartitions(), [&](int partition) {
      const EvaluationContext context = execution_.evaluation(partition);
      auto part = std::make_unique<PartialGroups>(node_.layout_, node_.grouping_, state_.numPartitions(),
                                                  context.memoryPool());
      const auto reader = input.open(partition);
      while (const auto batch = reader->next()) {
        execution_.cancellation.throwIfCancelled();
        if (batch->num_rows() > 0) part->add(*batch, context);
      }
      groups[static_cast<size_t>(partition)] = std::move(part);
    });
    // The one group of an aggregation without keys takes part in every batch.
    if (groups.empty() && node_.grouping_.empty()) {
      groups.push_back(std::make_unique<PartialGroups>(node_.layout_, node_.grouping_, state_.numPartitions(),
                                                       execution_.evaluation().memoryPool()));
    }
    if (node_.layout_.panes)
      expandPanes(groups);
    else
      std::move(groups.begin(), groups.end(), std::back_inserter(parts_));
  }

  // A pane that several partitions of the input have is merged before it is multiplied.
  void expandPanes(const std::vector<std::unique_ptr<PartialGroups>>& panes) {
    parts_.resize(static_cast<size_t>(state_.numPartitions()));
    execution_.pool->runAll(state_.numPartitions(), [&](int partition) {
      auto windows = std::make_unique<WindowsOfPanes>(node_.layout_, state_.numPartitions(),
                                                      execution_.evaluation(partition).memoryPool());
      for (const auto& part : panes) windows->merge(*part, part->entriesOf(partition));
      windows->expand(execution_.cancellation);
      parts_[static_cast<size_t>(partition)] = std::move(windows);
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
        std::vector<uint32_t> entries = part->entriesOf(partition);
        dropLate(*part, &entries, &late);
        state.merge(*part, entries);
      }
      metrics.rowsUpdated += static_cast<int64_t>(state.touched().size());
      metrics.rowsDroppedByWatermark += static_cast<int64_t>(late.size());
    }
    return emit(state);
  }

  void dropLate(const GroupEntries& part, std::vector<uint32_t>* entries,
                std::unordered_set<std::string_view>* late) const {
    if (!node_.layout_.eventTime || node_.mode_ == OutputMode::Complete) return;
    const int64_t watermark = watermarks_.lateMs * kMicrosPerMilli;
    std::erase_if(*entries, [&](uint32_t entry) {
      const auto time = part.time(entry);
      if (!time || *time > watermark) return false;
      late->insert(part.key(entry));
      return true;
    });
  }

  Batches emit(AggregateState& state) {
    const Schema& schema = *node_.schema();
    if (node_.mode_ == OutputMode::Complete) return state.allResults(schema);
    StateMetrics& metrics = state_.metrics();
    Batches rows;
    if (node_.mode_ == OutputMode::Update) rows = state.results(schema, state.touched());
    if (!node_.layout_.eventTime) return rows;
    const MetricStopwatch watch(metrics.removalsMs);
    const auto leave = [&](AggregateState::Groups groups) {
      for (auto& batch : state.results(schema, groups)) rows.push_back(std::move(batch));
    };
    metrics.rowsRemoved += state.removeEnded(
        watermarks_.evictionMs * kMicrosPerMilli,
        node_.mode_ == OutputMode::Append ? leave : std::function<void(AggregateState::Groups)>());
    return rows;
  }

  const PhysicalStatefulAggregate& node_;
  Execution& execution_;
  OperatorState& state_;
  BatchWatermarks watermarks_;
  std::vector<std::unique_ptr<GroupEntries>> parts_;
};

PhysicalStatefulAggregate::PhysicalStatefulAggregate(SchemaPtr schema, std::vector<ExpressionPtr> grouping,
                                                     Aggregates aggregates, OutputMode mode,
                                                     std::optional<EventTimeKey> eventTime,
                                                     std::optional<WindowPanes> panes, int operatorId,
                                                     PhysicalPtr child)
    : StatefulNode(schema, {std::move(child)}, operatorId),
      grouping_(std::move(grouping)),
      aggregates_(std::move(aggregates)),
      mode_(mode),
      layout_(groupingFields(*schema, grouping_.size()), aggregates_, eventTime, panes) {}

std::unique_ptr<RunningOperator> PhysicalStatefulAggregate::start(Execution& execution) const {
  const auto input = children()[0]->start(execution);
  return StatefulAggregateRun(*this, execution).run(*input);
}

std::string PhysicalStatefulAggregate::describe() const {
  return describeAggregation("StateStoreSave", grouping_, aggregates_) + ", state " +
         std::to_string(operatorId());
}

std::vector<StoreDefinition> PhysicalStatefulAggregate::stores() const {
  return {{kDefaultStateStore, DataType::structOf(layout_.keyFields), DataType::structOf(layout_.valueFields),
           0}};
}

std::vector<std::unique_ptr<StorePartition>> PhysicalStatefulAggregate::makePartition() const {
  std::vector<std::unique_ptr<StorePartition>> stores;
  stores.push_back(std::make_unique<AggregateState>(layout_));
  return stores;
}

std::string PhysicalStatefulAggregate::fingerprint() const {
  return functionNames(aggregates_);
}

bool PhysicalStatefulAggregate::wantsAnotherBatch(int64_t usedWatermarkMs, int64_t watermarkMs) const {
  return mode_ != OutputMode::Complete && watermarkMs > usedWatermarkMs;
}

}  // namespace thalweg
