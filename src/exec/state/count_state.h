// A number that one operator keeps: how many rows it has passed on.
#pragma once

#include <optional>

#include "columnar/binary_row.h"
#include "exec/state/operator_state.h"

namespace thalweg {

// A store of one key, a void column, and a value that is there once it has been set. Used by one thread.
class CountState final : public StorePartition {
 public:
  static StoreDefinition store();

  void restart() override;
  void apply(const StateChange& change) override;
  void finishLoad() override {}
  std::vector<StateChange> changes() override;
  void changesWritten() override { changed_ = false; }
  StateEntries entries() const override;
  int64_t numKeys() const override { return count_ ? 1 : 0; }
  int64_t memoryBytes() const override { return sizeof(*this); }

  int64_t count() const { return count_.value_or(0); }
  // True where this is the batch's first change.
  bool add(int64_t more);

 private:
  std::optional<int64_t> count_;
  bool changed_ = false;
  BinaryRows key_, value_;  // of the batch's change
};

}  // namespace thalweg
