// DISTINCT inside an aggregate function: the function sees each of a group's values once.
#include "columnar/group_table.h"
#include "functions/aggregate/accumulators.h"
#include "functions/aggregate/group_rows.h"

namespace thalweg {
namespace {

// Of a value beside what it takes itself: its group, its key in the table.
constexpr int64_t kValueBytes = 48;

std::vector<int32_t> selectedRows(const Selection& selection) {
  std::vector<int32_t> rows;
  rows.reserve(static_cast<size_t>(selection.count()));
  selection.forEach([&](int64_t row) { rows.push_back(static_cast<int32_t>(row)); });
  return rows;
}

std::vector<DataTypePtr> tableTypes(const std::vector<DataTypePtr>& types) {
  std::vector<DataTypePtr> all = {longType()};
  all.insert(all.end(), types.begin(), types.end());
  return all;
}

// Keeps the values that went to the function, for the one that this is merged into. Over no streams: groups
// are not reset.
class Distinct final : public Aggregator {
 public:
  Distinct(std::unique_ptr<Aggregator> function, const std::vector<DataTypePtr>& types, size_t numDistinct)
      : function_(std::move(function)),
        types_(types),
        numDistinct_(numDistinct),
        seen_(tableTypes({types.begin(), types.begin() + static_cast<int64_t>(numDistinct)}),
              arrow::default_memory_pool(), false) {
    for (const DataTypePtr& type : types) kept_.emplace_back(type);
  }
  void resize(int64_t numGroups) override { function_->resize(numGroups); }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    arrow::Int64Builder groupColumn;
    for (const uint32_t group : groups) throwIfFailed(groupColumn.Append(group));
    Arrays keys = {valueOrThrow(groupColumn.Finish())};
    keys.insert(keys.end(), arguments.begin(), arguments.begin() + static_cast<int64_t>(numDistinct_));
    const std::vector<int32_t> rows = selectedRows(selection);
    auto next = static_cast<uint32_t>(seen_.numGroups());
    std::vector<uint32_t> numbers;
    seen_.assign(keys, rows, &numbers);
    std::vector<int32_t> fresh;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (numbers[i] != next) continue;
      ++next;
      fresh.push_back(rows[i]);
      groups_.push_back(groups[static_cast<size_t>(rows[i])]);
    }
    if (fresh.empty()) return;
    const std::vector<int64_t> positions(fresh.begin(), fresh.end());
    for (size_t i = 0; i < kept_.size(); ++i) {
      ValueLog batch(types_[i]);
      batch.append(arguments[i]);
      kept_[i].append(batch.take(positions, arrow::default_memory_pool()));
    }
    function_->update(groups, arguments, Selection::of(selection.numRows(), std::move(fresh)));
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto& that = static_cast<const Distinct&>(other);
    const std::vector<std::vector<int64_t>> positionsOf = that.positionsByGroup();
    std::vector<uint32_t> groups;
    std::vector<int64_t> positions;
    for (size_t i = 0; i < from.size(); ++i) {
      if (from[i] >= positionsOf.size()) continue;
      positions.insert(positions.end(), positionsOf[from[i]].begin(), positionsOf[from[i]].end());
      groups.resize(positions.size(), to[i]);
    }
    Arrays arguments;
    for (const ValueLog& values : that.kept_)
      arguments.push_back(values.take(positions, arrow::default_memory_pool()));
    update(groups, arguments, Selection::all(static_cast<int64_t>(groups.size())));
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return function_->finish(groups, pool);
  }
  void reset(GroupsOfRows groups) override { function_->reset(groups); }
  Bytes bytes() const override {
    Bytes all = function_->bytes();
    const auto numValues = static_cast<int64_t>(groups_.size());
    for (const ValueLog& values : kept_) all.values += 2 * values.bytesOf(numValues);
    all.values += numValues * kValueBytes;
    return all;
  }

 private:
  std::vector<std::vector<int64_t>> positionsByGroup() const {
    std::vector<std::vector<int64_t>> positions;
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i] >= positions.size()) positions.resize(groups_[i] + 1);
      positions[groups_[i]].push_back(static_cast<int64_t>(i));
    }
    return positions;
  }

  std::unique_ptr<Aggregator> function_;
  std::vector<DataTypePtr> types_;
  size_t numDistinct_;
  GroupTable seen_;               // groups' numbers and values
  std::vector<ValueLog> kept_;    // an argument each: the values that went to the function
  std::vector<uint32_t> groups_;  // of these
};

}  // namespace

std::unique_ptr<Aggregator> makeDistinct(std::unique_ptr<Aggregator> function,
                                         const std::vector<DataTypePtr>& types, size_t numDistinct) {
  return std::make_unique<Distinct>(std::move(function), types, numDistinct);
}

}  // namespace thalweg
