#include "exec/operators/stateful_sessions.h"

#include <algorithm>

#include <arrow/record_batch.h>

#include "exec/operators/groups.h"
#include "exec/operators/state_output.h"

namespace thalweg {
namespace {

using Batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;

}  // namespace

// One batch's run over all partitions of the state.
class StatefulSessionsRun {
 public:
  StatefulSessionsRun(const PhysicalStatefulSessions& node, Execution& execution)
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
    groups_.resize(static_cast<size_t>(input.numPartitions()));
    parts_.resize(groups_.size());
    execution_.pool->runAll(input.numPartitions(), [&](int partition) {
      const auto i = static_cast<size_t>(partition);
      groups_[i] = groupPartition(input, partition, execution_, node_.grouping_, node_.aggregates_);
      parts_[i] = std::make_unique<PartialSessions>(node_.layout_, *groups_[i], state_.numPartitions());
    });
  }

  Batches runPartition(int partition) {
    auto& state = static_cast<SessionState&>(state_.partition(0, partition));
    StateMetrics& metrics = state_.metrics();
    {
      const MetricStopwatch watch(metrics.updatesMs);
      for (const auto& part : parts_) {
        std::vector<uint32_t> sessions = part->ofPartition[static_cast<size_t>(partition)];
        metrics.rowsDroppedByWatermark += dropLate(*part, &sessions);
        state.add(*part, sessions);
      }
      const SessionState::Merged merged = state.merge();
      metrics.rowsUpdated += merged.updated;
      metrics.rowsRemoved += merged.removed;
    }
    return emit(state);
  }

  int64_t dropLate(const PartialSessions& part, std::vector<uint32_t>* sessions) const {
    if (!node_.hasWatermark_) return 0;
    const int64_t watermark = watermarks_.lateMs * kMicrosPerMilli;
    return static_cast<int64_t>(
        std::erase_if(*sessions, [&](uint32_t session) { return part.sessions.ends[session] <= watermark; }));
  }

  Batches emit(SessionState& state) {
    const Schema& schema = *node_.schema();
    if (node_.mode_ == OutputMode::Complete) return state.allResults(schema);
    StateMetrics& metrics = state_.metrics();
    const MetricStopwatch watch(metrics.removalsMs);
    Batches rows;
    metrics.rowsRemoved +=
        state.removeEnded(watermarks_.evictionMs * kMicrosPerMilli, [&](SessionState::Numbers sessions) {
          for (auto& batch : state.results(schema, sessions)) rows.push_back(std::move(batch));
        });
    return rows;
  }

  const PhysicalStatefulSessions& node_;
  Execution& execution_;
  OperatorState& state_;
  BatchWatermarks watermarks_;
  std::vector<std::unique_ptr<Groups>> groups_;
  std::vector<std::unique_ptr<PartialSessions>> parts_;
};

PhysicalStatefulSessions::PhysicalStatefulSessions(SchemaPtr schema, std::vector<ExpressionPtr> grouping,
                                                   size_t session, Aggregates aggregates, OutputMode mode,
                                                   bool hasWatermark, int operatorId, PhysicalPtr child)
    : StatefulNode(schema, {std::move(child)}, operatorId),
      grouping_(std::move(grouping)),
      aggregates_(std::move(aggregates)),
      mode_(mode),
      hasWatermark_(hasWatermark),
      layout_(groupingFields(*schema, grouping_.size()), session, aggregates_) {}

std::unique_ptr<RunningOperator> PhysicalStatefulSessions::start(Execution& execution) const {
  const auto input = children()[0]->start(execution);
  return StatefulSessionsRun(*this, execution).run(*input);
}

std::string PhysicalStatefulSessions::describe() const {
  return describeAggregation("SessionWindowStateStoreSave", grouping_, aggregates_) + ", state " +
         std::to_string(operatorId());
}

std::vector<StoreDefinition> PhysicalStatefulSessions::stores() const {
  return {{kDefaultStateStore, layout_.storedKey, layout_.storedValue,
           static_cast<int>(layout_.keys->fields().size())}};
}

std::vector<std::unique_ptr<StorePartition>> PhysicalStatefulSessions::makePartition() const {
  std::vector<std::unique_ptr<StorePartition>> stores;
  stores.push_back(std::make_unique<SessionState>(layout_));
  return stores;
}

std::string PhysicalStatefulSessions::fingerprint() const {
  return functionNames(aggregates_);
}

bool PhysicalStatefulSessions::wantsAnotherBatch(int64_t usedWatermarkMs, int64_t watermarkMs) const {
  return mode_ == OutputMode::Append && hasWatermark_ && watermarkMs > usedWatermarkMs;
}

}  // namespace thalweg
