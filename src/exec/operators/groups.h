// Rows grouped in memory: the groups' keys and their running values. Batch aggregation is made of it, and the first stage of
// sessions over a stream.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "columnar/group_table.h"
#include "exec/pipeline/execution.h"
#include "expr/aggregate.h"

namespace thalweg {

using Aggregates = std::vector<std::shared_ptr<const AggregateCall>>;
using Aggregators = std::vector<std::unique_ptr<Aggregator>>;

Aggregators makeAggregators(const Aggregates& aggregates);
std::vector<DataTypePtr> typesOf(const std::vector<ExpressionPtr>& expressions);
std::vector<std::shared_ptr<arrow::Array>> evaluateAll(const std::vector<ExpressionPtr>& expressions, const arrow::RecordBatch& batch,
                                                       const Selection& selection, const EvaluationContext& context);
// Adds a batch's rows to their groups: groups[row] is the group of row `row`.
void updateAll(const Aggregators& aggregators, const Aggregates& aggregates, std::span<const uint32_t> groups,
               const arrow::RecordBatch& batch, const EvaluationContext& context);
// Of an aggregation's output, the columns that it groups by: they come first.
std::vector<StructField> groupingFields(const Schema& output, size_t numGrouping);
// "count,sum": which functions an aggregation's state is of.
std::string functionNames(const Aggregates& aggregates);
// 0 … count − 1: all groups, or all rows.
std::vector<uint32_t> allGroups(int64_t count);

// Used by one thread. The expressions outlive it. Without grouping expressions there is one group from the
// start.
class Groups {
 public:
  Groups(const std::vector<ExpressionPtr>& grouping, const Aggregates& aggregates, arrow::MemoryPool* pool);

  void add(const arrow::RecordBatch& batch, const EvaluationContext& context);
  // Adds the groups of another one of the same expressions, which gives up its keys.
  void merge(Groups& other);

  int64_t numGroups() const;
  // A key column a grouping expression, a row a group. Once; then no more is added.
  std::vector<std::shared_ptr<arrow::Array>> takeKeys() { return table_.finishKeys(); }
  const Aggregators& aggregators() const { return aggregators_; }

 private:
  void number(const std::vector<std::shared_ptr<arrow::Array>>& keys, int64_t count);
  void resize(int64_t count);

  const std::vector<ExpressionPtr>& grouping_;
  const Aggregates& aggregates_;
  GroupTable table_;
  Aggregators aggregators_;
  std::vector<uint32_t> groups_;  // of the rows at hand
};

// "Name(keys=[…], functions=[…])": an aggregation as explain prints it.
std::string describeAggregation(const std::string& name, const std::vector<ExpressionPtr>& grouping, const Aggregates& aggregates);

// Reads a partition to its end and groups it.
std::unique_ptr<Groups> groupPartition(RunningOperator& input, int partition, Execution& execution,
                                       const std::vector<ExpressionPtr>& grouping,
                                       const Aggregates& aggregates);

// Keys and results of groups as batches of the schema, each of a bounded number of rows.
std::vector<std::shared_ptr<arrow::RecordBatch>> resultBatches(
    const Schema& schema, std::vector<std::shared_ptr<arrow::Array>> keys, const Aggregators& aggregators,
    std::span<const uint32_t> groups, arrow::MemoryPool* pool);

}  // namespace thalweg
