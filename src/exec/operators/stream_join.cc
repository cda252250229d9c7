#include "exec/operators/stream_join.h"

#include <algorithm>

#include "common/error.h"
#include "exec/operators/stream_join_run.h"

namespace thalweg {
namespace {

JoinStateLayout::Side stateSide(const StreamJoin& join, JoinSide which, const PhysicalNode& input) {
  const StreamJoin::Side& side = join.side(which);
  JoinStateLayout::Side state;
  for (const ExpressionPtr& key : side.keys)
    state.keys.push_back({"field" + std::to_string(state.keys.size()), key->type(), key->nullable()});
  state.columns = input.schema()->fields();
  if (!join.keyExpiry && !side.bounds.empty()) state.expiry = side.eventTime;
  return state;
}

std::string textOf(const std::vector<ExpressionPtr>& keys) {
  std::string text;
  for (const ExpressionPtr& key : keys) text += (text.empty() ? "" : ", ") + key->toString();
  return "[" + text + "]";
}

}  // namespace

PhysicalStreamJoin::PhysicalStreamJoin(SchemaPtr schema, StreamJoin join, int operatorId, PhysicalPtr left,
                                       PhysicalPtr right)
    : StatefulNode(std::move(schema), {std::move(left), std::move(right)}, operatorId),
      join_(std::move(join)),
      layout_({stateSide(join_, JoinSide::Left, input(JoinSide::Left)),
               stateSide(join_, JoinSide::Right, input(JoinSide::Right))},
              join_.keyExpiry) {
  THALWEG_ASSERT(!join_.sides[0].keys.empty());
  THALWEG_ASSERT(join_.type != JoinType::LeftAnti && join_.type != JoinType::Cross);
}

std::unique_ptr<RunningOperator> PhysicalStreamJoin::start(Execution& execution) const {
  const auto left = input(JoinSide::Left).start(execution);
  const auto right = input(JoinSide::Right).start(execution);
  return StreamJoinRun(*this, execution).run(*left, *right);
}

std::string PhysicalStreamJoin::describe() const {
  std::string text = "SymmetricHashJoin " + textOf(join_.sides[0].keys) + ", " + textOf(join_.sides[1].keys) +
                     ", " + nameOf(join_.type);
  if (join_.condition) text += ", " + join_.condition->toString();
  return text + ", state " + std::to_string(operatorId());
}

std::optional<int64_t> PhysicalStreamJoin::stateWatermarkMs(JoinSide which, int64_t inputMs) const {
  if (join_.keyExpiry) return inputMs;
  const StreamJoin::Side& side = join_.side(which);
  return side.eventTime ? thalweg::stateWatermarkMs(side.bounds, inputMs) : std::nullopt;
}

bool PhysicalStreamJoin::wantsAnotherBatch(int64_t usedWatermarkMs, int64_t watermarkMs) const {
  const bool ends =
      stateWatermarkMs(JoinSide::Left, watermarkMs) || stateWatermarkMs(JoinSide::Right, watermarkMs);
  return ends && watermarkMs > usedWatermarkMs;
}

std::optional<int64_t> PhysicalStreamJoin::outputWatermark(int64_t inputMs) const {
  int64_t least = inputMs;
  for (const JoinSide side : kJoinSides) {
    if (const auto ofSide = stateWatermarkMs(side, inputMs)) least = std::min(least, *ofSide);
  }
  return least;
}

}  // namespace thalweg
