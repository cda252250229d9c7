#include "exec/operators/stream_join_output.h"

#include <arrow/api.h>

#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {

StreamJoinOutput::StreamJoinOutput(const PhysicalStreamJoin& node, arrow::MemoryPool* pool)
    : node_(node), pool_(pool), schema_(toArrowSchema(*node.schema())) {}

void StreamJoinOutput::addPairs(Columns left, Columns right, int64_t numRows) {
  if (numRows == 0) return;
  for (auto& column : right) left.push_back(std::move(column));
  batches_.push_back(arrow::RecordBatch::Make(schema_, numRows, std::move(left)));
}

void StreamJoinOutput::addAlone(JoinSide side, Columns columns, int64_t numRows) {
  if (isExistence(node_.join().type)) return addPairs(std::move(columns), {}, numRows);
  Columns missing;
  const auto schema = toArrowSchema(*node_.input(otherSide(side)).schema());
  for (const auto& field : schema->fields())
    missing.push_back(valueOrThrow(arrow::MakeArrayOfNull(field->type(), numRows, pool_)));
  if (side == JoinSide::Left)
    addPairs(std::move(columns), std::move(missing), numRows);
  else
    addPairs(std::move(missing), std::move(columns), numRows);
}

}  // namespace thalweg
