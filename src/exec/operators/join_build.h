// The side of a join that is held in memory: its rows, found by key.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "columnar/group_table.h"
#include "exec/operators/join.h"

namespace thalweg {

// Made by one thread, then read by any number at once.
class JoinBuild {
 public:
  // Reads all of `input`, the running build side of `join`. Throws what reading and the keys' expressions
  // throw, and Error UNSUPPORTED_FEATURE where there are 2³¹ rows or more.
  JoinBuild(const PhysicalJoin& join, RunningOperator& input, Execution& execution);

  int64_t numRows() const { return numRows_; }
  int64_t averageRowBytes() const { return numRows_ == 0 ? 0 : numBytes_ / numRows_; }

  // Positions of the rows with a key: rowAt(begin) … rowAt(end − 1).
  struct Range {
    int64_t begin = 0, end = 0;
  };
  // The partners of each row of a batch of the probing side, by key alone. Without keys all rows are
  // everyone's partners.
  std::vector<Range> partnersOf(const arrow::RecordBatch& probe, const EvaluationContext& context) const;
  uint32_t rowAt(int64_t position) const {
    return rowsByKey_.empty() ? static_cast<uint32_t>(position) : rowsByKey_[static_cast<size_t>(position)];
  }

  // The build side's columns of these rows, in this order.
  arrow::ArrayVector take(const std::vector<uint32_t>& rows, arrow::MemoryPool* pool) const;

  // Which rows had a partner; kept only where the join lets the others out. Any thread.
  void setMatched(uint32_t row) { matched_[row].store(true, std::memory_order_relaxed); }
  bool isMatched(uint32_t row) const { return matched_[row].load(std::memory_order_relaxed); }

  // Of a join that gives each row away once: true while a key has rows left, of which one is gone then. Any
  // thread.
  bool takePartner(Range partners) {
    return partners.begin < partners.end &&
           taken_[static_cast<size_t>(partners.begin)].fetch_add(1) < partners.end - partners.begin;
  }

 private:
  void addKeys(const arrow::RecordBatch& batch, const EvaluationContext& context,
               std::vector<uint32_t>* groups);
  void orderByKey(const std::vector<uint32_t>& groups);
  void putIntoBlocks(std::vector<std::shared_ptr<arrow::RecordBatch>> batches, arrow::MemoryPool* pool);

  const PhysicalJoin& join_;
  std::shared_ptr<arrow::Schema> schema_;
  GroupTable table_;
  int64_t numRows_ = 0;
  int64_t numBytes_ = 0;
  std::vector<uint32_t> keyStarts_;  // of each key's rows in rowsByKey_, one more than keys
  std::vector<uint32_t> rowsByKey_;  // empty without keys
  // Rows lie in a few large batches: arrays of strings hold at most 2 GB.
  std::vector<std::shared_ptr<arrow::RecordBatch>> blocks_;
  std::vector<uint32_t> blockStarts_;
  std::unique_ptr<std::atomic<bool>[]> matched_;
  std::unique_ptr<std::atomic<int64_t>[]> taken_;  // by position, at each key's first
};

}  // namespace thalweg
