#include "exec/operators/stream_join_input.h"

#include <numeric>

#include <arrow/api.h>

#include "columnar/row_hash.h"
#include "exec/operators/project_filter.h"
#include "exec/operators/state_output.h"
#include "types/arrow_result.h"

namespace thalweg {
namespace {

using RecordBatchPtr = std::shared_ptr<arrow::RecordBatch>;
using Rows = std::vector<int32_t>;

class InputReader {
 public:
  InputReader(const PhysicalStreamJoin& node, JoinSide side, Execution& execution, int partition,
              int numStatePartitions)
      : node_(node),
        side_(node.join().side(side)),
        keepsUnmatched_(node.join().keeps(side)),
        context_(execution.evaluation(partition)),
        lateMicros_(execution.watermarks.at(static_cast<size_t>(node.operatorId())).lateMs * kMicrosPerMilli),
        numStatePartitions_(numStatePartitions) {}

  void add(RecordBatchPtr batch, JoinInput* out) {
    batch = only(batch, notLate(*batch, out));
    batch = only(batch, passing(batch, out));
    std::vector<std::shared_ptr<arrow::Array>> keys = evaluateKeys(*batch);
    if (!keepsUnmatched_) {
      const Rows withKey = rowsWithKey(keys);
      if (static_cast<int64_t>(withKey.size()) < batch->num_rows()) {
        batch = only(batch, withKey);
        keys = evaluateKeys(*batch);
      }
    }
    if (batch->num_rows() > 0) out->batches.push_back(inPartitions(std::move(batch), std::move(keys)));
  }

 private:
  RecordBatchPtr only(const RecordBatchPtr& batch, const Rows& rows) const {
    return static_cast<int64_t>(rows.size()) == batch->num_rows()
               ? batch
               : takeRows(batch, rows, context_.memoryPool());
  }

  Rows notLate(const arrow::RecordBatch& batch, JoinInput* out) const {
    Rows rows(static_cast<size_t>(batch.num_rows()));
    std::iota(rows.begin(), rows.end(), 0);
    if (!side_.eventTime) return rows;
    const auto times = side_.eventTime->timesOf(batch.columns());
    std::erase_if(rows, [&](int32_t row) {
      const auto& time = times[static_cast<size_t>(row)];
      return time && *time <= lateMicros_;
    });
    out->numLate += batch.num_rows() - static_cast<int64_t>(rows.size());
    return rows;
  }

  Rows passing(const RecordBatchPtr& batch, JoinInput* out) const {
    Rows passed;
    const Selection all = Selection::all(batch->num_rows());
    const Selection selected = side_.filter ? selectTrue(*side_.filter, *batch, all, context_) : all;
    selected.forEach([&](int64_t row) { passed.push_back(static_cast<int32_t>(row)); });
    if (keepsUnmatched_ && static_cast<int64_t>(passed.size()) < batch->num_rows()) {
      Rows failed;
      size_t next = 0;
      for (int32_t row = 0; row < static_cast<int32_t>(batch->num_rows()); ++row) {
        if (next < passed.size() && passed[next] == row)
          ++next;
        else
          failed.push_back(row);
      }
      out->alone.push_back(takeRows(batch, failed, context_.memoryPool()));
    }
    return passed;
  }

  std::vector<std::shared_ptr<arrow::Array>> evaluateKeys(const arrow::RecordBatch& batch) const {
    std::vector<std::shared_ptr<arrow::Array>> keys;
    for (const ExpressionPtr& key : side_.keys)
      keys.push_back(evaluateToArray(*key, batch, Selection::all(batch.num_rows()), context_));
    return keys;
  }

  static Rows rowsWithKey(const std::vector<std::shared_ptr<arrow::Array>>& keys) {
    Rows rows(static_cast<size_t>(keys[0]->length()));
    std::iota(rows.begin(), rows.end(), 0);
    for (const auto& key : keys) {
      if (key->null_count() > 0) std::erase_if(rows, [&](int32_t row) { return key->IsNull(row); });
    }
    return rows;
  }

  JoinInputBatch inPartitions(RecordBatchPtr batch, std::vector<std::shared_ptr<arrow::Array>> keys) const {
    const int64_t numRows = batch->num_rows();
    if (numStatePartitions_ == 1) return {std::move(batch), std::move(keys), {0, numRows}};
    const std::vector<int32_t> partitions =
        partitionIds(node_.layout().keyTypes(), keys, numRows, numStatePartitions_);
    std::vector<int64_t> starts(static_cast<size_t>(numStatePartitions_) + 1, 0);
    for (const int32_t partition : partitions) ++starts[static_cast<size_t>(partition) + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    std::vector<int64_t> next(starts.begin(), starts.end() - 1);
    Rows order(partitions.size());
    for (size_t row = 0; row < partitions.size(); ++row)
      order[static_cast<size_t>(next[static_cast<size_t>(partitions[row])]++)] = static_cast<int32_t>(row);
    batch = takeRows(batch, order, context_.memoryPool());
    // Keys may be dearer to compute than to copy.
    arrow::FieldVector fields;
    for (const auto& key : keys) fields.push_back(arrow::field("", key->type()));
    const auto ordered =
        takeRows(arrow::RecordBatch::Make(arrow::schema(std::move(fields)), numRows, std::move(keys)), order,
                 context_.memoryPool());
    return {std::move(batch), ordered->columns(), std::move(starts)};
  }

  const PhysicalStreamJoin& node_;
  const StreamJoin::Side& side_;
  bool keepsUnmatched_;
  EvaluationContext context_;
  int64_t lateMicros_;
  int numStatePartitions_;
};

}  // namespace

JoinInput readJoinInput(const PhysicalStreamJoin& node, JoinSide side, RunningOperator& input, int partition,
                        Execution& execution, int numStatePartitions) {
  JoinInput read;
  InputReader rows(node, side, execution, partition, numStatePartitions);
  const auto reader = input.open(partition);
  while (auto batch = reader->next()) {
    execution.cancellation.throwIfCancelled();
    if (batch->num_rows() > 0) rows.add(std::move(batch), &read);
  }
  return read;
}

}  // namespace thalweg
