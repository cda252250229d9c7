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
  // Adds groups of another aggregator of the same kind: its group from[i] goes into the group to[i], in this order. Groups may be
  // named several times on both sides: what several windows have in common goes into each of them. `other` may be this one, where
  // no group is on both sides.
  virtual void merge(std::span<const uint32_t> from, std::span<const uint32_t> to, const Aggregator& other) = 0;
  // The result of each of the groups.
  virtual std::shared_ptr<arrow::Array> finish(std::span<const uint32_t> groups, arrow::MemoryPool* pool) const = 0;
  // Makes groups empty again.
  virtual void reset(std::span<const uint32_t> groups) = 0;
  // What groups take in memory, about, without a look at them: each, empty or not; and what those that are not empty have
  // besides, all together: texts, lists, sets.
  struct Bytes {
    int64_t each = 0;
    int64_t values = 0;
  };
  virtual Bytes bytes() const = 0;

  // The columns in which Spark keeps a group between batches, by its names. None: this function's running values are
  // not Spark's, and it cannot be used over streams; then the two below are not called.
  virtual std::vector<StructField> bufferFields() const { return {}; }
  // The running values of groups, a column a buffer field, a row a group.
  virtual std::vector<std::shared_ptr<arrow::Array>> saveBuffers(std::span<const uint32_t> groups, arrow::MemoryPool* pool) const;
  // Sets groups, which are empty, to saved running values: row i is groups[i].
  virtual void loadBuffers(std::span<const uint32_t> groups, const std::vector<std::shared_ptr<arrow::Array>>& buffers);
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
    bool orderMatters = false;  // of a group's values: the last one, a list of them
    Factory make;
    std::string text;  // as Spark prints the call, where it is not name(a, b)
    std::string tail;  // what Spark prints behind it: " WITHIN GROUP (ORDER BY a)"
    // The last child is a condition, no argument: only rows where it is true count (FILTER).
    bool filtered = false;
  };

  AggregateCall(std::shared_ptr<const Spec> spec, std::vector<ExpressionPtr> arguments);
  const Spec& spec() const { return *spec_; }
  // The function's arguments, and the condition of its rows: null where all count.
  std::vector<ExpressionPtr> arguments() const;
  ExpressionPtr filter() const { return spec_->filtered ? children().back() : nullptr; }
  // The same call over the rows where a boolean is true. There must be no filter yet.
  ExpressionPtr withFilter(ExpressionPtr filter) const;
  arrow::Datum evaluate(const arrow::RecordBatch&, const Selection&, const EvaluationContext&) const override;
  ExpressionPtr withChildren(std::vector<ExpressionPtr> children) const override;
  Foldability foldability() const override { return Foldability::Never; }
  std::string toString() const override;

 private:
  std::shared_ptr<const Spec> spec_;
};

bool containsAggregate(const Expression& expression);

}  // namespace thalweg
