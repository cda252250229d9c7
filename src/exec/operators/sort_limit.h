// Operators that look at the order of rows: sort, limit, offset, tail; and the union of several inputs.
#pragma once

#include "exec/operators/operator.h"
#include "expr/nodes.h"

namespace thalweg {

// What a sort puts in order: all rows, in one partition, or each partition's own, which stay apart.
enum class SortedRows { All, OfEachPartition };

// Rows in order. `limit` ≥ 0: only the first so many (a sort of all rows below a limit).
class PhysicalSort final : public PhysicalNode {
 public:
  PhysicalSort(std::vector<ExpressionPtr> orders, SortedRows rows, int64_t limit, PhysicalPtr child);
  std::unique_ptr<RunningOperator> start(Execution& execution) const override;
  std::string describe() const override;
  const std::vector<ExpressionPtr>& orders() const { return orders_; }
  int64_t limit() const { return limit_; }

 private:
  std::vector<ExpressionPtr> orders_;
  SortedRows rows_;
  int64_t limit_;
};

// Reads its input's partitions one after the other and stops when it has enough.
class PhysicalLimit final : public PhysicalNode {
 public:
  PhysicalLimit(int64_t limit, int64_t offset, bool tail, PhysicalPtr child);
  std::unique_ptr<RunningOperator> start(Execution& execution) const override;
  std::string describe() const override;

 private:
  int64_t limit_, offset_;
  bool tail_;
};

class PhysicalUnion final : public PhysicalNode {
 public:
  PhysicalUnion(SchemaPtr schema, std::vector<PhysicalPtr> children);
  std::unique_ptr<RunningOperator> start(Execution& execution) const override;
  std::string describe() const override { return "Union"; }
};

}  // namespace thalweg
