#include "exec/operators/join_build.h"

#include <algorithm>

#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <arrow/util/byte_size.h>

#include "common/error.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

constexpr int64_t kBlockBytes = int64_t{1} << 29;

std::vector<ExpressionPtr> sideOf(const std::vector<JoinKey>& keys, bool left) {
  std::vector<ExpressionPtr> side;
  for (const JoinKey& key : keys) side.push_back(left ? key.left : key.right);
  return side;
}

std::vector<DataTypePtr> keyTypes(const std::vector<JoinKey>& keys) {
  std::vector<DataTypePtr> types;
  for (const JoinKey& key : keys) types.push_back(key.left->type());
  return types;
}

// The keys of a batch, and the rows that can have a partner: a null equals nothing but under <=>.
struct KeyedRows {
  arrow::ArrayVector keys;
  std::vector<int32_t> rows;
};
KeyedRows keyedRows(const std::vector<JoinKey>& keys, bool left, const arrow::RecordBatch& batch,
                    const EvaluationContext& context) {
  KeyedRows result;
  for (const ExpressionPtr& key : sideOf(keys, left)) {
    result.keys.push_back(evaluateToArray(*key, batch, Selection::all(batch.num_rows()), context));
  }
  result.rows.reserve(static_cast<size_t>(batch.num_rows()));
  for (int32_t row = 0; row < static_cast<int32_t>(batch.num_rows()); ++row) {
    bool usable = true;
    for (size_t i = 0; i < keys.size() && usable; ++i)
      usable = keys[i].nullSafe || !result.keys[i]->IsNull(row);
    if (usable) result.rows.push_back(row);
  }
  return result;
}

int64_t bytesOf(const arrow::RecordBatch& batch) {
  return arrow::util::ReferencedBufferSize(batch).ValueOr(arrow::util::TotalBufferSize(batch));
}

std::shared_ptr<arrow::Array> takeFrom(const arrow::Array& array, const std::vector<uint32_t>& rows,
                                       arrow::MemoryPool* pool) {
  const arrow::UInt32Array indices(static_cast<int64_t>(rows.size()), arrow::Buffer::Wrap(rows));
  arrow::compute::ExecContext context(pool);
  return valueOrThrow(
      arrow::compute::Take(array, indices, arrow::compute::TakeOptions::NoBoundsCheck(), &context));
}

}  // namespace

JoinBuild::JoinBuild(const PhysicalJoin& join, RunningOperator& input, Execution& execution)
    : join_(join),
      schema_(toArrowSchema(*join.build().schema())),
      table_(keyTypes(join.condition().keys), execution.evaluation().memoryPool(), /*keepKeys=*/false) {
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches = collectAll(input, execution);
  for (const auto& batch : batches) numRows_ += batch->num_rows();
  if (numRows_ > INT32_MAX) throw unsupported("A join whose smaller side has more than 2,147,483,647 rows");
  if (!join_.condition().keys.empty()) {
    std::vector<uint32_t> groups;
    groups.reserve(static_cast<size_t>(numRows_));
    for (const auto& batch : batches) {
      execution.cancellation.throwIfCancelled();
      addKeys(*batch, execution.evaluation(), &groups);
    }
    orderByKey(groups);
  }
  if (join_.keepsBuild()) matched_ = std::make_unique<std::atomic<bool>[]>(static_cast<size_t>(numRows_));
  if (join_.eachOnce()) taken_ = std::make_unique<std::atomic<int64_t>[]>(static_cast<size_t>(numRows_));
  putIntoBlocks(std::move(batches), execution.evaluation().memoryPool());
}

void JoinBuild::addKeys(const arrow::RecordBatch& batch, const EvaluationContext& context,
                        std::vector<uint32_t>* groups) {
  const KeyedRows keyed = keyedRows(join_.condition().keys, join_.buildsLeft(), batch, context);
  std::vector<uint32_t> numbers;
  table_.assign(keyed.keys, keyed.rows, &numbers);
  const size_t base = groups->size();
  groups->resize(base + static_cast<size_t>(batch.num_rows()), GroupTable::kNoGroup);
  for (size_t i = 0; i < numbers.size(); ++i)
    (*groups)[base + static_cast<size_t>(keyed.rows[i])] = numbers[i];
}

// A counting sort: the rows of a key in their order.
void JoinBuild::orderByKey(const std::vector<uint32_t>& groups) {
  keyStarts_.assign(static_cast<size_t>(table_.numGroups()) + 1, 0);
  for (const uint32_t group : groups) {
    if (group != GroupTable::kNoGroup) ++keyStarts_[group + 1];
  }
  for (size_t i = 1; i < keyStarts_.size(); ++i) keyStarts_[i] += keyStarts_[i - 1];
  rowsByKey_.resize(keyStarts_.back());
  std::vector<uint32_t> next(keyStarts_.begin(), keyStarts_.end() - 1);
  for (size_t row = 0; row < groups.size(); ++row) {
    if (groups[row] != GroupTable::kNoGroup) rowsByKey_[next[groups[row]]++] = static_cast<uint32_t>(row);
  }
}

void JoinBuild::putIntoBlocks(std::vector<std::shared_ptr<arrow::RecordBatch>> batches,
                              arrow::MemoryPool* pool) {
  std::vector<std::shared_ptr<arrow::RecordBatch>> waiting;
  int64_t waitingBytes = 0;
  uint32_t rows = 0;
  const auto flush = [&] {
    if (waiting.empty()) return;
    blockStarts_.push_back(rows);
    blocks_.push_back(waiting.size() == 1 ? waiting[0]
                                          : valueOrThrow(arrow::ConcatenateRecordBatches(waiting, pool)));
    rows += static_cast<uint32_t>(blocks_.back()->num_rows());
    waiting.clear();
    waitingBytes = 0;
  };
  for (auto& batch : batches) {
    const int64_t bytes = bytesOf(*batch);
    numBytes_ += bytes;
    if (waitingBytes + bytes > kBlockBytes) flush();
    waitingBytes += bytes;
    waiting.push_back(std::exchange(batch, nullptr));
  }
  flush();
}

std::vector<JoinBuild::Range> JoinBuild::partnersOf(const arrow::RecordBatch& probe,
                                                    const EvaluationContext& context) const {
  const auto count = static_cast<size_t>(probe.num_rows());
  if (join_.condition().keys.empty()) return std::vector<Range>(count, Range{0, numRows_});
  std::vector<Range> partners(count);
  const KeyedRows keyed = keyedRows(join_.condition().keys, !join_.buildsLeft(), probe, context);
  std::vector<uint32_t> groups;
  table_.find(keyed.keys, keyed.rows, &groups);
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i] == GroupTable::kNoGroup) continue;
    partners[static_cast<size_t>(keyed.rows[i])] = {keyStarts_[groups[i]], keyStarts_[groups[i] + 1]};
  }
  return partners;
}

arrow::ArrayVector JoinBuild::take(const std::vector<uint32_t>& rows, arrow::MemoryPool* pool) const {
  arrow::ArrayVector columns;
  if (blocks_.size() == 1) {
    for (const auto& column : blocks_[0]->columns()) columns.push_back(takeFrom(*column, rows, pool));
    return columns;
  }
  // Block by block, then brought into order.
  std::vector<std::vector<uint32_t>> rowsOfBlock(blocks_.size());
  std::vector<uint32_t> blockOf(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto after = std::upper_bound(blockStarts_.begin(), blockStarts_.end(), rows[i]);
    blockOf[i] = static_cast<uint32_t>(after - blockStarts_.begin() - 1);
    rowsOfBlock[blockOf[i]].push_back(rows[i] - blockStarts_[blockOf[i]]);
  }
  std::vector<uint32_t> next(blocks_.size(), 0);
  for (size_t block = 1; block < blocks_.size(); ++block)
    next[block] = next[block - 1] + static_cast<uint32_t>(rowsOfBlock[block - 1].size());
  std::vector<uint32_t> order(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) order[i] = next[blockOf[i]]++;
  for (int column = 0; column < schema_->num_fields(); ++column) {
    arrow::ArrayVector parts = {valueOrThrow(arrow::MakeEmptyArray(schema_->field(column)->type(), pool))};
    for (size_t block = 0; block < blocks_.size(); ++block)
      parts.push_back(takeFrom(*blocks_[block]->column(column), rowsOfBlock[block], pool));
    columns.push_back(takeFrom(*valueOrThrow(arrow::Concatenate(parts, pool)), order, pool));
  }
  return columns;
}

}  // namespace thalweg
