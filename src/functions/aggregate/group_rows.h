// Lists of values, one a group: what collect_list and its like keep.
#pragma once

#include <memory>
#include <vector>

#include "columnar/group_table.h"
#include "functions/aggregate/group_columns.h"

namespace thalweg {

// Values of one type in the order of their arrival, known by their position. They lie in arrays as they came;
// the arrays grow together as they become many.
class ValueLog {
 public:
  explicit ValueLog(const DataTypePtr& type) : type_(toArrowType(*type)) {}
  int64_t size() const { return size_; }
  // The position of the first value; the others follow.
  int64_t append(std::shared_ptr<arrow::Array> values);
  // The values at positions, in that order.
  std::shared_ptr<arrow::Array> take(std::span<const int64_t> positions, arrow::MemoryPool* pool) const;
  // Those values alone, which are at 0, 1, … from now on.
  void keepOnly(std::span<const int64_t> positions);
  // What so many of its values take in memory, about.
  int64_t bytesOf(int64_t numValues) const { return size_ == 0 ? 0 : bytes_ / size_ * numValues; }

 private:
  std::shared_ptr<arrow::DataType> type_;
  arrow::ArrayVector chunks_;
  std::vector<int64_t> starts_;  // the position of each chunk's first value
  int64_t size_ = 0;
  int64_t bytes_ = 0;
};

// A list of values a group. Nested values and all others alike. Used by one thread.
class GroupRows {
 public:
  explicit GroupRows(const DataTypePtr& type) : type_(type), log_(type) {}
  void resize(int64_t numGroups) { positions_.resize(static_cast<size_t>(numGroups)); }
  // Adds all values to a log, and those of rows to their groups' lists with add.
  int64_t append(std::shared_ptr<arrow::Array> values) { return log_.append(std::move(values)); }
  void add(uint32_t group, int64_t position) {
    positions_[group].push_back(position);
    ++live_;
  }
  // The groups' values, one group's after the other's, and how many each has.
  std::shared_ptr<arrow::Array> values(GroupsOfRows groups, std::vector<int32_t>* counts,
                                       arrow::MemoryPool* pool) const;
  // A list a group, empty where there are none.
  std::shared_ptr<arrow::Array> lists(GroupsOfRows groups, arrow::MemoryPool* pool) const;
  void reset(GroupsOfRows groups);
  Aggregator::Bytes bytes() const {
    return {sizeof(std::vector<int64_t>),
            log_.bytesOf(live_) + live_ * static_cast<int64_t>(sizeof(int64_t))};
  }

 private:
  DataTypePtr type_;
  ValueLog log_;
  std::vector<std::vector<int64_t>> positions_;
  int64_t live_ = 0;  // values that lists have; the log may have more
};

// A set of values a group, each with a number that counts it. Used by one thread.
class GroupSets {
 public:
  explicit GroupSets(const DataTypePtr& type);
  void resize(int64_t numGroups);
  // Adds values[rows[i]] to the set of groups[rows[i]], counted weights[i] times, once without weights.
  void add(GroupsOfRows groups, const std::shared_ptr<arrow::Array>& values, const std::vector<int32_t>& rows,
           std::span<const int64_t> weights = {});
  // Adds to groups[i] the next sizes[i] of the values, which follow each other.
  void addLists(GroupsOfRows groups, const std::vector<int32_t>& sizes,
                const std::shared_ptr<arrow::Array>& values, std::span<const int64_t> weights = {});
  // The groups' values in the order of their first arrival, one group's after the other's; how many each
  // group has, and how often each value was counted.
  struct Contents {
    std::shared_ptr<arrow::Array> values;
    std::vector<int32_t> sizes;
    std::vector<int64_t> weights;
  };
  Contents contents(GroupsOfRows groups, arrow::MemoryPool* pool) const;
  void reset(GroupsOfRows groups);
  Aggregator::Bytes bytes() const;

 private:
  std::unique_ptr<GroupTable> newTable() const;
  void rebuild();

  DataTypePtr type_;
  std::unique_ptr<GroupTable> table_;          // numbers owners and values
  ValueLog values_;                            // by number
  std::vector<int64_t> weights_;               // by number
  std::vector<std::vector<int64_t>> numbers_;  // of each group
  // The table forgets nothing: a group that is emptied gets another owner, and what its last one had is in
  // nobody's set.
  std::vector<int64_t> owners_;
  int64_t nextOwner_ = 0;
  int64_t live_ = 0;  // values in sets
};

// Lists of values one group's after the other's as a column.
std::shared_ptr<arrow::Array> listColumn(const DataTypePtr& element, const std::vector<int32_t>& sizes,
                                         const std::shared_ptr<arrow::Array>& values,
                                         arrow::MemoryPool* pool);

// Lists as Spark keeps them in state: bytes of a binary row with one array column; `type` is the list's.
std::shared_ptr<arrow::Array> encodeLists(const DataTypePtr& type, const std::shared_ptr<arrow::Array>& lists,
                                          arrow::MemoryPool* pool);
// The lists again. Throws Error STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE for other bytes, nulls among
// them.
std::shared_ptr<arrow::Array> decodeLists(const DataTypePtr& type, const arrow::Array& bytes);

}  // namespace thalweg
