#include "exec/operators/stream_join_partition.h"

#include <algorithm>
#include <numeric>

#include <arrow/api.h>

#include "columnar/row_sizes.h"
#include "exec/operators/project_filter.h"
#include "exec/operators/state_output.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

using Arrays = std::vector<std::shared_ptr<arrow::Array>>;

constexpr size_t kRowsAtOnce = 16384;
// What the pairs that are tried at once may take.
constexpr int64_t kPairBytes = int64_t{32} << 20;

std::shared_ptr<arrow::Schema> pairSchema(const PhysicalStreamJoin& join) {
  arrow::FieldVector fields = toArrowSchema(*join.input(JoinSide::Left).schema())->fields();
  const arrow::FieldVector right = toArrowSchema(*join.input(JoinSide::Right).schema())->fields();
  fields.insert(fields.end(), right.begin(), right.end());
  return arrow::schema(std::move(fields));
}

std::vector<uint8_t> rowsWithNull(const Arrays& keys) {
  std::vector<uint8_t> hasNull;
  for (const auto& key : keys) {
    if (key->null_count() == 0) continue;
    hasNull.resize(static_cast<size_t>(key->length()));
    for (int64_t row = 0; row < key->length(); ++row) hasNull[static_cast<size_t>(row)] |= key->IsNull(row);
  }
  return hasNull;
}

std::shared_ptr<arrow::Array> booleans(const std::vector<uint8_t>& values, arrow::MemoryPool* pool) {
  arrow::BooleanBuilder builder(pool);
  throwIfFailed(builder.AppendValues(values.data(), static_cast<int64_t>(values.size())));
  return valueOrThrow(builder.Finish());
}

}  // namespace

StreamJoinPartition::StreamJoinPartition(const PhysicalStreamJoin& node, Execution& execution,
                                         JoinState& state, StateMetrics& metrics, int partition)
    : node_(node),
      join_(node.join()),
      execution_(execution),
      context_(execution.evaluation(partition)),
      state_(state),
      metrics_(metrics),
      output_(node, context_.memoryPool()),
      pairSchema_(pairSchema(node)) {
  const int64_t watermark = execution.watermarks.at(static_cast<size_t>(node.operatorId())).evictionMs;
  for (const JoinSide side : kJoinSides) {
    if (const auto end = node.stateWatermarkMs(side, watermark))
      endMicros_[static_cast<size_t>(side)] = *end * kMicrosPerMilli;
  }
}

void StreamJoinPartition::add(JoinSide side, const JoinInputBatch& batch) {
  const auto partition = static_cast<size_t>(context_.partition);
  const int64_t begin = batch.starts[partition], count = batch.starts[partition + 1] - begin;
  if (count == 0) return;
  Probe probe;
  probe.side = side;
  probe.rows = batch.rows->Slice(begin, count);
  for (const auto& key : batch.keys) probe.keys.push_back(key->Slice(begin, count));
  keyBytes_.clear();
  state_.layout().keyEncoder().encode(probe.keys, 0, count, &keyBytes_);
  probe.keyNumbers = state_.number(keyBytes_);
  probe.hasNullKey = rowsWithNull(probe.keys);
  probe.matched.resize(static_cast<size_t>(count));
  probe.rowSizes = rowSizes(*probe.rows);
  match(probe);
  state_.remove(JoinSide::Left, gone_);
  metrics_.rowsRemoved += static_cast<int64_t>(gone_.size());
  gone_.clear();
  keep(probe);
}

void StreamJoinPartition::match(Probe& probe) {
  const JoinRows& held = state_.rows(otherSide(probe.side));
  const bool isSemi = isExistence(join_.type);
  const bool askOfRow = isSemi && probe.side == JoinSide::Left;
  const bool askOfHeld = isSemi && probe.side == JoinSide::Right;
  for (size_t row = 0; row < probe.keyNumbers.size(); ++row) {
    if (!probe.hasNullKey.empty() && probe.hasNullKey[row]) continue;
    uint32_t partner = held.last(probe.keyNumbers[row]);
    for (; partner != JoinState::kNone; partner = held.before(partner)) {
      if (askOfRow && probe.matched[row]) break;
      if (askOfHeld && held.isMatched(partner)) continue;
      probeRows_.push_back(static_cast<int32_t>(row));
      heldRows_.push_back(partner);
      pairBytes_ += probe.rowSizes[row] + static_cast<int64_t>(held.bytes(partner).size());
      if (probeRows_.size() == kRowsAtOnce || pairBytes_ > kPairBytes) tryPairs(probe);
      if (askOfRow && !join_.condition) break;
    }
  }
  tryPairs(probe);
  if (!askOfRow) return;
  std::vector<int32_t> found;
  for (size_t row = 0; row < probe.matched.size(); ++row) {
    if (probe.matched[row]) found.push_back(static_cast<int32_t>(row));
  }
  if (found.empty()) return;
  output_.addAlone(JoinSide::Left, takeRows(probe.rows, found, context_.memoryPool())->columns(),
                   static_cast<int64_t>(found.size()));
}

void StreamJoinPartition::tryPairs(Probe& probe) {
  execution_.cancellation.throwIfCancelled();
  if (probeRows_.empty()) return;
  Arrays left, right;
  const std::vector<int32_t> pairs = holdingPairs(probe, &left, &right);
  noteMatches(probe, pairs);
  if (!isExistence(join_.type)) {
    const auto numPairs = static_cast<int64_t>(probeRows_.size());
    const auto numHolding = static_cast<int64_t>(pairs.size());
    if (numHolding < numPairs) {
      const auto taken = [&](Arrays columns, const arrow::FieldVector& fields) {
        return takeRows(arrow::RecordBatch::Make(arrow::schema(fields), numPairs, std::move(columns)), pairs,
                        context_.memoryPool())
            ->columns();
      };
      const auto& fields = pairSchema_->fields();
      const auto numLeft = static_cast<int64_t>(left.size());
      left = taken(std::move(left), {fields.begin(), fields.begin() + numLeft});
      right = taken(std::move(right), {fields.begin() + numLeft, fields.end()});
    }
    output_.addPairs(std::move(left), std::move(right), numHolding);
  }
  probeRows_.clear();
  heldRows_.clear();
  pairBytes_ = 0;
}

// Which of the pairs satisfy the condition; and all pairs' columns, where somebody needs them.
std::vector<int32_t> StreamJoinPartition::holdingPairs(const Probe& probe, Arrays* left,
                                                       Arrays* right) const {
  std::vector<int32_t> pairs;
  pairs.reserve(probeRows_.size());
  if (join_.condition || !isExistence(join_.type)) {
    Arrays ofProbe = takeRows(probe.rows, probeRows_, context_.memoryPool())->columns();
    Arrays ofState = state_.decode(otherSide(probe.side), heldRows_);
    *left = probe.side == JoinSide::Left ? ofProbe : ofState;
    *right = probe.side == JoinSide::Left ? std::move(ofState) : std::move(ofProbe);
  }
  if (!join_.condition) {
    pairs.resize(probeRows_.size());
    std::iota(pairs.begin(), pairs.end(), 0);
    return pairs;
  }
  Arrays columns = *left;
  columns.insert(columns.end(), right->begin(), right->end());
  const auto numPairs = static_cast<int64_t>(probeRows_.size());
  const auto batch = arrow::RecordBatch::Make(pairSchema_, numPairs, std::move(columns));
  selectTrue(*join_.condition, *batch, Selection::all(numPairs), context_).forEach([&](int64_t pair) {
    pairs.push_back(static_cast<int32_t>(pair));
  });
  return pairs;
}

void StreamJoinPartition::noteMatches(Probe& probe, const std::vector<int32_t>& pairs) {
  const JoinSide held = otherSide(probe.side);
  const bool isSemi = isExistence(join_.type);
  std::vector<uint32_t> firstMatches;  // of a semi join, rows of the left that come out with this
  for (const int32_t pair : pairs) {
    const auto row = static_cast<size_t>(probeRows_[static_cast<size_t>(pair)]);
    const uint32_t partner = heldRows_[static_cast<size_t>(pair)];
    if (isSemi && held == JoinSide::Left) {
      if (state_.rows(held).isMatched(partner)) continue;
      firstMatches.push_back(partner);
    }
    probe.matched[row] = 1;
    // Nobody asks it of the right's rows of a semi join.
    if (!isSemi || held == JoinSide::Left) state_.setMatched(held, partner);
  }
  emitHeld(JoinSide::Left, firstMatches);
  gone_.insert(gone_.end(), firstMatches.begin(), firstMatches.end());
}

std::vector<std::optional<int64_t>> StreamJoinPartition::expiryTimes(const Probe& probe) const {
  const JoinStateLayout& layout = state_.layout();
  if (layout.keyExpiry()) return layout.keyExpiry()->timesOf(probe.keys);
  const auto& expiry = layout.side(probe.side).expiry;
  if (expiry) return expiry->timesOf(probe.rows->columns());
  return std::vector<std::optional<int64_t>>(probe.keyNumbers.size());
}

// Which rows Spark's state would have after the batch: the left's meet the right's of this batch yet; the
// right's have met all, and those that end with this batch matter for their coming out alone.
bool StreamJoinPartition::isKept(const Probe& probe, size_t row, const std::optional<int64_t>& time) const {
  const bool matched = probe.matched[row] != 0;
  if (probe.side == JoinSide::Left) return join_.type != JoinType::LeftSemi || !matched;
  const auto& end = endMicros_[static_cast<size_t>(JoinSide::Right)];
  const bool endsNow = end && time && *time <= *end;
  return !endsNow || (join_.keeps(JoinSide::Right) && !matched);
}

void StreamJoinPartition::keep(const Probe& probe) {
  const auto times = expiryTimes(probe);
  Arrays columns = probe.rows->columns();
  columns.push_back(booleans(probe.matched, context_.memoryPool()));
  rowBytes_.clear();
  state_.layout().rowEncoder(probe.side).encode(columns, 0, probe.rows->num_rows(), &rowBytes_);
  int64_t numKept = 0;
  for (size_t row = 0; row < probe.keyNumbers.size(); ++row) {
    if (!isKept(probe, row, times[row])) continue;
    state_.append(probe.side, probe.keyNumbers[row], rowBytes_[row], times[row]);
    ++numKept;
  }
  metrics_.rowsUpdated += numKept;
}

void StreamJoinPartition::evict() {
  const MetricStopwatch watch(metrics_.removalsMs);
  for (const JoinSide side : kJoinSides) {
    const auto& end = endMicros_[static_cast<size_t>(side)];
    if (!end) continue;
    if (!state_.layout().keyExpiry()) {
      state_.takeExpiredRows(side, *end, [&](const JoinState::Rows& rows) { leave(side, rows); });
    } else if (side == JoinSide::Left) {
      state_.takeExpiredKeys(*end, [&](const std::array<JoinState::Rows, 2>& rows) {
        for (const JoinSide which : kJoinSides) leave(which, rows[static_cast<size_t>(which)]);
      });
    }
  }
}

// As Spark counts: rows that come out as they leave are not among the removed.
void StreamJoinPartition::leave(JoinSide side, const std::vector<uint32_t>& rows) {
  if (join_.keeps(side))
    emitUnmatched(side, rows);
  else
    metrics_.rowsRemoved += static_cast<int64_t>(rows.size());
  state_.remove(side, rows);
}

void StreamJoinPartition::emitUnmatched(JoinSide side, const std::vector<uint32_t>& rows) {
  std::vector<uint32_t> block;
  for (const uint32_t row : rows) {
    if (state_.rows(side).isMatched(row)) continue;
    block.push_back(row);
    if (block.size() < kRowsAtOnce) continue;
    emitHeld(side, block);
    block.clear();
  }
  emitHeld(side, block);
}

void StreamJoinPartition::emitHeld(JoinSide side, const std::vector<uint32_t>& rows) {
  if (rows.empty()) return;
  output_.addAlone(side, state_.decode(side, rows), static_cast<int64_t>(rows.size()));
}

}  // namespace thalweg
