#include "exec/operators/groups.h"

#include <numeric>

#include <arrow/api.h>

#include "columnar/normalized_floats.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

using Arrays = std::vector<std::shared_ptr<arrow::Array>>;

constexpr int64_t kOutputRows = 65536;

std::vector<int32_t> allRows(int64_t count) {
  std::vector<int32_t> rows(static_cast<size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

}  // namespace

Aggregators makeAggregators(const Aggregates& aggregates) {
  Aggregators aggregators;
  for (const auto& aggregate : aggregates) aggregators.push_back(aggregate->spec().make());
  return aggregators;
}

std::vector<DataTypePtr> typesOf(const std::vector<ExpressionPtr>& expressions) {
  std::vector<DataTypePtr> types;
  for (const ExpressionPtr& expression : expressions) types.push_back(expression->type());
  return types;
}

Arrays evaluateAll(const std::vector<ExpressionPtr>& expressions, const arrow::RecordBatch& batch,
                   const Selection& selection, const EvaluationContext& context) {
  Arrays arrays;
  for (const ExpressionPtr& expression : expressions)
    arrays.push_back(evaluateToArray(*expression, batch, selection, context));
  return arrays;
}

void updateAll(const Aggregators& aggregators, const Aggregates& aggregates, std::span<const uint32_t> groups,
               const arrow::RecordBatch& batch, const EvaluationContext& context) {
  const Selection all = Selection::all(batch.num_rows());
  for (size_t i = 0; i < aggregators.size(); ++i) {
    const ExpressionPtr filter = aggregates[i]->filter();
    const Selection counted = filter ? selectTrue(*filter, batch, all, context) : all;
    aggregators[i]->update(groups, evaluateAll(aggregates[i]->arguments(), batch, counted, context), counted);
  }
}

std::vector<StructField> groupingFields(const Schema& output, size_t numGrouping) {
  return {output.fields().begin(), output.fields().begin() + static_cast<std::ptrdiff_t>(numGrouping)};
}

std::string functionNames(const Aggregates& aggregates) {
  std::string names;
  for (const auto& aggregate : aggregates) names += (names.empty() ? "" : ",") + aggregate->spec().name;
  return names;
}

std::vector<uint32_t> allGroups(int64_t count) {
  std::vector<uint32_t> groups(static_cast<size_t>(count));
  std::iota(groups.begin(), groups.end(), 0U);
  return groups;
}

Groups::Groups(const std::vector<ExpressionPtr>& grouping, const Aggregates& aggregates,
               arrow::MemoryPool* pool)
    : grouping_(grouping),
      aggregates_(aggregates),
      table_(typesOf(grouping), pool),
      aggregators_(makeAggregators(aggregates)) {
  if (grouping_.empty()) resize(1);
}

void Groups::add(const arrow::RecordBatch& batch, const EvaluationContext& context) {
  const Selection all = Selection::all(batch.num_rows());
  Arrays keys = evaluateAll(grouping_, batch, all, context);
  for (size_t i = 0; i < keys.size(); ++i)
    keys[i] = normalizeFloats(*grouping_[i]->type(), std::move(keys[i]), context.memoryPool());
  number(keys, batch.num_rows());
  updateAll(aggregators_, aggregates_, groups_, batch, context);
}

void Groups::merge(Groups& other) {
  const int64_t count = other.numGroups();
  if (count == 0) return;
  number(other.takeKeys(), count);
  const std::vector<uint32_t> from = allGroups(count);
  for (size_t i = 0; i < aggregators_.size(); ++i)
    aggregators_[i]->merge(from, groups_, *other.aggregators_[i]);
}

int64_t Groups::numGroups() const {
  return grouping_.empty() ? 1 : table_.numGroups();
}

// groups_ = the group of each of `count` rows with these keys.
void Groups::number(const Arrays& keys, int64_t count) {
  if (grouping_.empty()) {
    groups_.assign(static_cast<size_t>(count), 0);
    return;
  }
  table_.assign(keys, allRows(count), &groups_);
  resize(table_.numGroups());
}

void Groups::resize(int64_t count) {
  for (auto& aggregator : aggregators_) aggregator->resize(count);
}

std::string describeAggregation(const std::string& name, const std::vector<ExpressionPtr>& grouping, const Aggregates& aggregates) {
  std::string text = name + "(keys=[";
  for (size_t i = 0; i < grouping.size(); ++i) text += (i ? ", " : "") + grouping[i]->toString();
  text += "], functions=[";
  for (size_t i = 0; i < aggregates.size(); ++i) text += (i ? ", " : "") + aggregates[i]->toString();
  return text + "])";
}

std::unique_ptr<Groups> groupPartition(RunningOperator& input, int partition, Execution& execution,
                                       const std::vector<ExpressionPtr>& grouping,
                                       const Aggregates& aggregates) {
  const EvaluationContext context = execution.evaluation(partition);
  auto groups = std::make_unique<Groups>(grouping, aggregates, context.memoryPool());
  const auto reader = input.open(partition);
  while (const auto batch = reader->next()) {
    execution.cancellation.throwIfCancelled();
    if (batch->num_rows() > 0) groups->add(*batch, context);
  }
  return groups;
}

std::vector<std::shared_ptr<arrow::RecordBatch>> resultBatches(const Schema& schema, Arrays keys,
                                                               const Aggregators& aggregators,
                                                               std::span<const uint32_t> groups,
                                                               arrow::MemoryPool* pool) {
  const auto count = static_cast<int64_t>(groups.size());
  arrow::ArrayVector columns = std::move(keys);
  for (const auto& aggregator : aggregators) columns.push_back(aggregator->finish(groups, pool));
  const auto whole = arrow::RecordBatch::Make(toArrowSchema(schema), count, std::move(columns));
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  for (int64_t at = 0; at < count; at += kOutputRows) batches.push_back(whole->Slice(at, kOutputRows));
  return batches;
}

}  // namespace thalweg
