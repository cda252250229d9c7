// DISTINCT inside an aggregate function: the function sees each of a group's values once.
#include "columnar/group_table.h"
#include "functions/aggregate/accumulators.h"
#include "functions/aggregate/group_rows.h"

namespace thalweg {
namespace {

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
    const int64_t start = kept_[0].size();
    for (size_t i = 0; i < rows.size(); ++i) {
      if (numbers[i] != next) continue;
      ++next;
      fresh.push_back(rows[i]);
      groups_.push_back(groups[static_cast<size_t>(rows[i])]);
      positions_.push_back(start + rows[i]);
    }
    if (fresh.empty()) return;
    for (size_t i = 0; i < kept_.size(); ++i) kept_[i].append(arguments[i]);
    function_->update(groups, arguments, Selection::of(selection.numRows(), std::move(fresh)));
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto& that = static_cast<const Distinct&>(other);
    std::vector<int64_t> target;
    for (size_t i = 0; i < from.size(); ++i) {
      if (from[i] >= target.size()) target.resize(from[i] + 1, -1);
      target[from[i]] = to[i];
    }
    std::vector<uint32_t> groups;
    std::vector<int64_t> positions;
    for (size_t i = 0; i < that.groups_.size(); ++i) {
      if (that.groups_[i] >= target.size() || target[that.groups_[i]] < 0) continue;
      groups.push_back(static_cast<uint32_t>(target[that.groups_[i]]));
      positions.push_back(that.positions_[i]);
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

 private:
  std::unique_ptr<Aggregator> function_;
  size_t numDistinct_;
  GroupTable seen_;                 // groups' numbers and values
  std::vector<ValueLog> kept_;      // an argument each
  std::vector<uint32_t> groups_;    // of the values that went to the function,
  std::vector<int64_t> positions_;  // and where they are kept
};

}  // namespace

std::unique_ptr<Aggregator> makeDistinct(std::unique_ptr<Aggregator> function,
                                         const std::vector<DataTypePtr>& types, size_t numDistinct) {
  return std::make_unique<Distinct>(std::move(function), types, numDistinct);
}

}  // namespace thalweg
