#include "exec/operators/session_aggregate.h"

#include <algorithm>

#include <arrow/api.h>

#include "columnar/group_table.h"
#include "exec/operators/project_filter.h"
#include "exec/operators/sessions.h"

namespace thalweg {
namespace {

using Arrays = std::vector<std::shared_ptr<arrow::Array>>;

class RunningSessionAggregate final : public SinglePartition {
 public:
  RunningSessionAggregate(const PhysicalSessionAggregate& node, std::unique_ptr<RunningOperator> input,
                          Execution& execution)
      : node_(node), input_(std::move(input)), execution_(execution) {}

 protected:
  std::vector<std::shared_ptr<arrow::RecordBatch>> produce() override {
    const auto groups = groupInput();
    const int64_t count = groups->numGroups();
    const Arrays keys = groups->takeKeys();
    Sessions sessions;
    sessions.append(*keys[node_.session()]);
    SessionMerges merges;
    std::vector<uint32_t> left;
    for (const auto& ofKey : byKey(keys, count, sessions)) mergeTouching(ofKey, &sessions, &merges, &left);
    Aggregators aggregators = makeAggregators(node_.aggregates());
    const std::vector<uint32_t> all = allGroups(count);
    for (size_t i = 0; i < aggregators.size(); ++i) {
      aggregators[i]->resize(count);
      aggregators[i]->merge(all, all, *groups->aggregators()[i]);
      aggregators[i]->merge(merges.from, merges.to, *groups->aggregators()[i]);
    }
    return resultBatches(*node_.schema(), keysOf(keys, sessions, left), aggregators, left, pool());
  }

 private:
  arrow::MemoryPool* pool() const { return execution_.evaluation().memoryPool(); }

  std::unique_ptr<Groups> groupInput() {
    std::vector<std::unique_ptr<Groups>> parts(static_cast<size_t>(input_->numPartitions()));
    execution_.pool->runAll(input_->numPartitions(), [&](int partition) {
      parts[static_cast<size_t>(partition)] =
          groupPartition(*input_, partition, execution_, node_.grouping(), node_.aggregates());
    });
    // In order of partitions: results that depend on order (first) are the same on every run.
    auto total = std::make_unique<Groups>(node_.grouping(), node_.aggregates(), pool());
    for (const auto& part : parts) total->merge(*part);
    return total;
  }

  // The groups of each key without the session, in order of their starts.
  std::vector<std::vector<uint32_t>> byKey(const Arrays& keys, int64_t count,
                                           const Sessions& sessions) const {
    std::vector<DataTypePtr> types = typesOf(node_.grouping());
    Arrays others = keys;
    types.erase(types.begin() + static_cast<std::ptrdiff_t>(node_.session()));
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(node_.session()));
    std::vector<uint32_t> keyOf(static_cast<size_t>(count), 0);
    if (!others.empty()) {
      std::vector<int32_t> rows(static_cast<size_t>(count));
      for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int32_t>(i);
      GroupTable(types, pool(), /*keepKeys=*/false).assign(others, rows, &keyOf);
    }
    std::vector<std::vector<uint32_t>> ofKey;
    for (uint32_t group = 0; group < keyOf.size(); ++group) {
      if (keyOf[group] >= ofKey.size()) ofKey.resize(keyOf[group] + 1);
      ofKey[keyOf[group]].push_back(group);
    }
    for (auto& groups : ofKey) {
      std::stable_sort(groups.begin(), groups.end(),
                       [&](uint32_t a, uint32_t b) { return sessions.starts[a] < sessions.starts[b]; });
    }
    return ofKey;
  }

  Arrays keysOf(const Arrays& keys, const Sessions& sessions, const std::vector<uint32_t>& groups) const {
    Arrays columns = takeRows(keys, std::vector<int32_t>(groups.begin(), groups.end()), pool());
    columns[node_.session()] = sessions.column(*node_.grouping()[node_.session()]->type(), groups);
    return columns;
  }

  const PhysicalSessionAggregate& node_;
  std::unique_ptr<RunningOperator> input_;
  Execution& execution_;
};

}  // namespace

PhysicalSessionAggregate::PhysicalSessionAggregate(SchemaPtr schema, std::vector<ExpressionPtr> grouping,
                                                   size_t session, Aggregates aggregates, PhysicalPtr child)
    : PhysicalNode(std::move(schema), {std::move(child)}),
      grouping_(std::move(grouping)),
      session_(session),
      aggregates_(std::move(aggregates)) {}

std::unique_ptr<RunningOperator> PhysicalSessionAggregate::start(Execution& execution) const {
  return std::make_unique<RunningSessionAggregate>(*this, children()[0]->start(execution), execution);
}

std::string PhysicalSessionAggregate::describe() const {
  return describeAggregation("SessionAggregate", grouping_, aggregates_);
}

}  // namespace thalweg
