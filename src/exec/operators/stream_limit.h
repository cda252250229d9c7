// A limit over a stream: so many rows in its whole life.
#pragma once

#include "exec/state/operator_state.h"

namespace thalweg {

// Passes rows on until there have been `limit` of them in all batches together: the first ones, in the order
// of the input's partitions. Its one reader counts them as they go by; what comes after the last one is not
// read.
class PhysicalStreamLimit final : public StatefulNode {
 public:
  PhysicalStreamLimit(int64_t limit, int operatorId, PhysicalPtr child);
  std::unique_ptr<RunningOperator> start(Execution& execution) const override;
  std::string describe() const override;

  std::string operatorName() const override { return "globalLimit"; }
  std::vector<StoreDefinition> stores() const override;
  std::vector<std::unique_ptr<StorePartition>> makePartition() const override;
  int numPartitionsUsed(int) const override { return 1; }
  std::string fingerprint() const override { return operatorName(); }
  bool wantsAnotherBatch(int64_t, int64_t) const override { return false; }

 private:
  int64_t limit_;
};

}  // namespace thalweg
