#include "columnar/row_sizes.h"
#include "exec/operators/join.h"

#include <algorithm>
#include <exception>
#include <mutex>

#include <arrow/api.h>

#include "common/error.h"
#include "exec/operators/join_build.h"
#include "exec/operators/project_filter.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

constexpr int64_t kOutputRows = 65536;
// What the pairs that are tried at once may take.
constexpr int64_t kPairBytes = int64_t{32} << 20;

std::shared_ptr<arrow::Schema> pairSchema(const PhysicalJoin& join) {
  arrow::FieldVector fields = toArrowSchema(*join.children()[0]->schema())->fields();
  const arrow::FieldVector right = toArrowSchema(*join.children()[1]->schema())->fields();
  fields.insert(fields.end(), right.begin(), right.end());
  return arrow::schema(std::move(fields));
}

// What the partitions of a running join share.
struct SharedJoin {
  const PhysicalJoin& node;
  Execution& execution;
  std::unique_ptr<RunningOperator> probe, buildInput;
  std::shared_ptr<arrow::Schema> pairs, output;
  std::mutex mutex;
  std::unique_ptr<JoinBuild> build;
  std::exception_ptr failure;
  std::atomic<int> unfinished;

  // Who comes first builds; the others give their cores away meanwhile.
  JoinBuild& built() {
    std::unique_lock lock(mutex, std::try_to_lock);
    if (!lock) {
      BlockingSection waiting;
      lock.lock();
    }
    if (failure) std::rethrow_exception(failure);
    if (build) return *build;
    try {
      build = std::make_unique<JoinBuild>(node, *buildInput, execution);
    } catch (...) {
      failure = std::current_exception();
      throw;
    }
    buildInput.reset();
    return *build;
  }
};

// One partition of the probing side.
class JoinReader final : public BatchReader {
 public:
  JoinReader(SharedJoin& shared, std::unique_ptr<BatchReader> input, int partition)
      : shared_(shared),
        node_(shared.node),
        build_(shared.built()),
        context_(shared.execution.evaluation(partition)),
        input_(std::move(input)) {}

  std::shared_ptr<arrow::RecordBatch> next() override {
    while (true) {
      shared_.execution.cancellation.throwIfCancelled();
      if (batch_) {
        if (auto result = nextOfBatch(); result && result->num_rows() > 0) return result;
        continue;
      }
      if (input_ && readBatch()) continue;
      return unmatchedBuildRows();
    }
  }

 private:
  using RecordBatchPtr = std::shared_ptr<arrow::RecordBatch>;
  arrow::MemoryPool* pool() const { return context_.memoryPool(); }
  bool onlyExistence() const { return isExistence(node_.type()); }

  // Begins the next batch of the probing side, cut to the size of batches that come out. False at the end.
  bool readBatch() {
    if (!uncut_) {
      uncut_ = input_->next();
      if (!uncut_) {
        input_.reset();
        isLast_ = shared_.unfinished.fetch_sub(1) == 1;
        return false;
      }
    }
    batch_ = uncut_->Slice(0, kOutputRows);
    uncut_ = uncut_->num_rows() > kOutputRows ? uncut_->Slice(kOutputRows) : nullptr;
    if (batch_->num_rows() == 0) {
      batch_ = nullptr;
      return true;
    }
    partners_ = build_.partnersOf(*batch_, context_);
    matched_.assign(partners_.size(), 0);
    row_ = 0;
    position_ = partners_[0].begin;
    // The largest row may be the one with all the partners.
    const std::vector<int64_t> sizes = rowSizes(*batch_);
    const int64_t rowBytes = build_.averageRowBytes() + *std::max_element(sizes.begin(), sizes.end());
    maxPairs_ = std::clamp<int64_t>(kPairBytes / std::max<int64_t>(rowBytes, 1), 1, kOutputRows);
    if (onlyExistence() && !node_.condition().rest) {
      for (size_t row = 0; row < partners_.size(); ++row) {
        matched_[row] =
            node_.eachOnce() ? build_.takePartner(partners_[row]) : partners_[row].begin < partners_[row].end;
      }
      row_ = partners_.size();
    }
    return true;
  }

  RecordBatchPtr nextOfBatch() {
    collectPairs();
    if (!probeRows_.empty()) return triedPairs();
    RecordBatchPtr rest;
    if (onlyExistence())
      rest = probeRowsWhere(node_.type() == JoinType::LeftSemi);
    else if (node_.keepsProbe())
      rest = unmatchedProbeRows();
    batch_ = nullptr;
    return rest;
  }

  void collectPairs() {
    probeRows_.clear();
    buildRows_.clear();
    while (row_ < partners_.size() && static_cast<int64_t>(probeRows_.size()) < maxPairs_) {
      const bool decided = onlyExistence() && matched_[row_];
      const int64_t left = decided ? 0 : partners_[row_].end - position_;
      const int64_t count = std::min(left, maxPairs_ - static_cast<int64_t>(probeRows_.size()));
      for (int64_t i = 0; i < count; ++i) {
        probeRows_.push_back(static_cast<int32_t>(row_));
        buildRows_.push_back(build_.rowAt(position_++));
      }
      if (count == left && ++row_ < partners_.size()) position_ = partners_[row_].begin;
    }
  }

  // The pairs of the collected ones for which the rest of the condition holds.
  RecordBatchPtr triedPairs() {
    RecordBatchPtr pairs =
        assemble(shared_.pairs, static_cast<int64_t>(probeRows_.size()),
                 takeRows(batch_, probeRows_, pool())->columns(), build_.take(buildRows_, pool()));
    if (!node_.condition().rest) {
      noteMatches(Selection::all(pairs->num_rows()));
    } else {
      const Selection holds =
          selectTrue(*node_.condition().rest, *pairs, Selection::all(pairs->num_rows()), context_);
      noteMatches(holds);
      if (!onlyExistence() && holds.count() < pairs->num_rows()) {
        std::vector<int32_t> rows;
        rows.reserve(static_cast<size_t>(holds.count()));
        holds.forEach([&](int64_t row) { rows.push_back(static_cast<int32_t>(row)); });
        pairs = takeRows(pairs, rows, pool());
      }
    }
    if (onlyExistence()) return nullptr;
    return arrow::RecordBatch::Make(shared_.output, pairs->num_rows(), pairs->columns());
  }

  void noteMatches(const Selection& pairs) {
    const bool ofProbe = onlyExistence() || node_.keepsProbe();
    const bool ofBuild = node_.keepsBuild();
    if (!ofProbe && !ofBuild) return;
    pairs.forEach([&](int64_t pair) {
      if (ofProbe) matched_[static_cast<size_t>(probeRows_[static_cast<size_t>(pair)])] = 1;
      if (ofBuild) build_.setMatched(buildRows_[static_cast<size_t>(pair)]);
    });
  }

  RecordBatchPtr probeRowsWhere(bool matched) {
    std::vector<int32_t> rows;
    for (size_t row = 0; row < matched_.size(); ++row) {
      if ((matched_[row] != 0) == matched) rows.push_back(static_cast<int32_t>(row));
    }
    return rows.size() == matched_.size() ? batch_ : takeRows(batch_, rows, pool());
  }

  RecordBatchPtr unmatchedProbeRows() {
    const RecordBatchPtr rows = probeRowsWhere(false);
    return assemble(shared_.output, rows->num_rows(), rows->columns(),
                    nulls(node_.build(), rows->num_rows()));
  }

  // Once all partitions of the probing side are through, the last of them has these.
  RecordBatchPtr unmatchedBuildRows() {
    if (!node_.keepsBuild() || !isLast_) return nullptr;
    std::vector<uint32_t> rows;
    for (; nextUnmatched_ < build_.numRows() && static_cast<int64_t>(rows.size()) < kOutputRows;
         ++nextUnmatched_) {
      if (!build_.isMatched(static_cast<uint32_t>(nextUnmatched_)))
        rows.push_back(static_cast<uint32_t>(nextUnmatched_));
    }
    if (rows.empty()) return nullptr;
    const auto count = static_cast<int64_t>(rows.size());
    return assemble(shared_.output, count, nulls(node_.probe(), count), build_.take(rows, pool()));
  }

  arrow::ArrayVector nulls(const PhysicalNode& side, int64_t count) const {
    arrow::ArrayVector columns;
    const std::shared_ptr<arrow::Schema> schema = toArrowSchema(*side.schema());
    for (const auto& field : schema->fields()) {
      columns.push_back(valueOrThrow(arrow::MakeArrayOfNull(field->type(), count, pool())));
    }
    return columns;
  }

  RecordBatchPtr assemble(const std::shared_ptr<arrow::Schema>& schema, int64_t numRows,
                          arrow::ArrayVector probe, arrow::ArrayVector build) const {
    arrow::ArrayVector columns = node_.buildsLeft() ? std::move(build) : std::move(probe);
    for (auto& column : node_.buildsLeft() ? probe : build) columns.push_back(std::move(column));
    return arrow::RecordBatch::Make(schema, numRows, std::move(columns));
  }

  SharedJoin& shared_;
  const PhysicalJoin& node_;
  JoinBuild& build_;
  EvaluationContext context_;
  std::unique_ptr<BatchReader> input_;
  bool isLast_ = false;
  int64_t nextUnmatched_ = 0;

  RecordBatchPtr uncut_;  // what is left of the input's batch
  RecordBatchPtr batch_;
  std::vector<JoinBuild::Range> partners_;  // of each row of the batch
  std::vector<uint8_t> matched_;
  size_t row_ = 0;  // the pair to try next: this row with its partner at position_
  int64_t position_ = 0;
  int64_t maxPairs_ = 0;
  std::vector<int32_t> probeRows_;  // the pairs that are tried now
  std::vector<uint32_t> buildRows_;
};

class RunningJoin final : public RunningOperator {
 public:
  RunningJoin(const PhysicalJoin& node, Execution& execution)
      : shared_{node,
                execution,
                node.probe().start(execution),
                node.build().start(execution),
                pairSchema(node),
                toArrowSchema(*node.schema()),
                {},
                nullptr,
                nullptr,
                0} {
    shared_.unfinished = numPartitions();
  }
  // Without partitions to probe there may still be rows of the build side.
  int numPartitions() const override { return std::max(1, shared_.probe->numPartitions()); }
  std::unique_ptr<BatchReader> open(int partition) override {
    auto input =
        partition < shared_.probe->numPartitions() ? shared_.probe->open(partition) : readBatches({});
    return std::make_unique<JoinReader>(shared_, std::move(input), partition);
  }

 private:
  SharedJoin shared_;
};

std::string joinedTexts(const std::vector<JoinKey>& keys, bool left) {
  std::string text;
  for (const JoinKey& key : keys)
    text += (text.empty() ? "" : ", ") + (left ? key.left : key.right)->toString();
  return "[" + text + "]";
}

}  // namespace

PhysicalJoin::PhysicalJoin(SchemaPtr schema, JoinType type, BuildSide buildSide, JoinCondition condition,
                           PhysicalPtr left, PhysicalPtr right, bool eachOnce)
    : PhysicalNode(std::move(schema), {std::move(left), std::move(right)}),
      type_(type),
      buildSide_(buildSide),
      condition_(std::move(condition)),
      eachOnce_(eachOnce) {
  THALWEG_ASSERT(!isExistence(type) || buildSide == BuildSide::Right);
  THALWEG_ASSERT(!eachOnce || (isExistence(type) && !condition_.rest && !condition_.keys.empty()));
}

std::unique_ptr<RunningOperator> PhysicalJoin::start(Execution& execution) const {
  return std::make_unique<RunningJoin>(*this, execution);
}

std::string PhysicalJoin::describe() const {
  const auto& keys = condition_.keys;
  std::string text = keys.empty()
                         ? "NestedLoopJoin "
                         : "HashJoin " + joinedTexts(keys, true) + ", " + joinedTexts(keys, false) + ", ";
  text += std::string(nameOf(type_)) + (buildsLeft() ? ", BuildLeft" : ", BuildRight");
  return condition_.rest ? text + ", " + condition_.rest->toString() : text;
}

}  // namespace thalweg
