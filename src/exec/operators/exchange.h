// Rows spread over partitions anew: what a write makes a file of, and a task runs over.
#pragma once

#include "exec/operators/operator.h"
#include "plan/logical/repartition.h"

namespace thalweg {

// Neighbouring partitions of the input read as one, one after the other. Nothing is held.
class PhysicalCoalesce final : public PhysicalNode {
 public:
  PhysicalCoalesce(int numPartitions, PhysicalPtr child);
  std::unique_ptr<RunningOperator> start(Execution& execution) const override;
  std::string describe() const override;

 private:
  int numPartitions_;
};

// Reads its whole input when it is started, for how many partitions there are may depend on it; rows that do
// not fit into `memoryBytes` wait on disk. A partition's rows come in the order of the input's partitions.
class PhysicalExchange final : public PhysicalNode {
 public:
  static constexpr int64_t kMemoryBytes = int64_t{64} << 20;

  // The keys of `spread` are bound to the child's columns. Its kind is not Merged.
  PhysicalExchange(RowSpread spread, PhysicalPtr child, int64_t memoryBytes = kMemoryBytes);
  std::unique_ptr<RunningOperator> start(Execution& execution) const override;
  std::string describe() const override;
  const RowSpread& spread() const { return spread_; }
  int64_t memoryBytes() const { return memoryBytes_; }

 private:
  RowSpread spread_;
  int64_t memoryBytes_;
};

}  // namespace thalweg
