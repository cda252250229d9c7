// Aggregate functions: the contract between their families, the planner and the aggregation operators.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "expr/expression.h"

namespace thalweg {

// The running values of one aggregate for many groups, column by column. Used by one thread.
// A group's number is below the last resize; new groups start empty.
class Aggregator {
 public:
  virtual ~Aggregator() = default;
  virtual void resize(int64_t numGroups) = 0;
  // Adds rows to groups: groups[row] is the group of row `row`; arguments have one value a row. Only selected rows count.
  virtual void update(std::span<const uint32_t> groups, const std::vector<std::shared_ptr<arrow::Array>>& arguments,
                      const Selection& selection) = 0;
  // Adds another aggregator of the same kind: its group g goes into groups[g].
  virtual void merge(std::span<const uint32_t> groups, const Aggregator& other) = 0;
  // One value a group.
  virtual std::shared_ptr<arrow::Array> finish(arrow::MemoryPool* pool) = 0;
};

// A resolved call of an aggregate function. The operators evaluate its arguments and keep its groups in an Aggregator.
class AggregateCall final : public Expression {
 public:
  using Factory = std::function<std::unique_ptr<Aggregator>()>;
  struct Spec {
    std::string name;
    DataTypePtr type;
    bool nullable = true;
    bool distinct = false;
    Factory make;
    std::string text;  // as Spark prints the call, where it is not name(a, b)
  };

  AggregateCall(std::shared_ptr<const Spec> spec, std::vector<ExpressionPtr> arguments);
  const Spec& spec() const { return *spec_; }
  arrow::Datum evaluate(const arrow::RecordBatch&, const Selection&, const EvaluationContext&) const override;
  ExpressionPtr withChildren(std::vector<ExpressionPtr> children) const override;
  Foldability foldability() const override { return Foldability::Never; }
  std::string toString() const override;

 private:
  std::shared_ptr<const Spec> spec_;
};

bool containsAggregate(const Expression& expression);

}  // namespace thalweg
