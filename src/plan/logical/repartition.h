// coalesce(), repartition(), repartitionByRange() and their hints: how rows are spread over tasks.
#pragma once

#include "plan/logical/node.h"

namespace thalweg {

// Rows as they are, spread anew.
struct RowSpread {
  enum class Kind {
    Merged,      // neighbouring partitions together, each in its order; never more than there are
    RoundRobin,  // row by row
    Hashed,      // rows with equal keys together, where Spark's hash says
    Ranged,      // rows in ranges of the keys (SortOrders), as even as equal keys let them be
  };
  Kind kind = Kind::Merged;
  // 0: as many as the rows' size asks for, at most `mostPartitions` (Spark's adaptive execution).
  int numPartitions = 0;
  int mostPartitions = 200;
  // Of partitions whose number is not said, about; 0: as adaptive execution has it, for tasks on all cores.
  int64_t partitionBytes = 0;
  std::vector<ExpressionPtr> keys = {};
};

class LogicalRepartition final : public LogicalNode {
 public:
  LogicalRepartition(RowSpread spread, LogicalPtr child);
  const RowSpread& spread() const { return spread_; }
  LogicalPtr withChildren(std::vector<LogicalPtr> children) const override;
  std::string describe() const override;

 private:
  RowSpread spread_;
};

// "RoundRobin, 4": for explain.
std::string describeSpread(const RowSpread& spread);

}  // namespace thalweg
