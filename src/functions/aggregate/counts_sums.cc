// count, and sums and averages of longs and doubles.
#include "functions/aggregate/accumulators.h"

#include <arrow/api.h>

#include "common/error.h"
#include "functions/aggregate/group_columns.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

class Count final : public Aggregator {
 public:
  explicit Count(bool ofTrue) : ofTrue_(ofTrue) {}
  void resize(int64_t numGroups) override { counts_.resize(static_cast<size_t>(numGroups)); }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    selection.forEach([&](int64_t row) {
      for (const auto& argument : arguments) {
        if (argument->IsNull(row)) return;
      }
      if (ofTrue_ && !static_cast<const arrow::BooleanArray&>(*arguments[0]).Value(row)) return;
      ++counts_[groups[static_cast<size_t>(row)]];
    });
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto& counts = static_cast<const Count&>(other).counts_;
    for (size_t i = 0; i < from.size(); ++i) counts_[to[i]] += counts[from[i]];
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return longColumn(counts_, groups, pool);
  }

  void reset(GroupsOfRows groups) override { clear(groups, &counts_); }
  Bytes bytes() const override { return {sizeof(int64_t), 0}; }
  std::vector<StructField> bufferFields() const override { return {{"count", longType(), false}}; }
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return {longColumn(counts_, groups, pool)};
  }
  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    loadLongColumn(groups, *buffers[0], &counts_);
  }

 private:
  bool ofTrue_;
  std::vector<int64_t> counts_;
};

// Sums and counts of non-null rows, for SUM (count > 0) and AVG.
class LongSum final : public Aggregator {
 public:
  explicit LongSum(Overflow overflow) : overflow_(overflow) {}
  void resize(int64_t numGroups) override {
    sums_.resize(static_cast<size_t>(numGroups));
    counts_.resize(static_cast<size_t>(numGroups));
    if (overflow_ == Overflow::Null) overflowed_.resize(static_cast<size_t>(numGroups));
  }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    const auto& values = static_cast<const arrow::Int64Array&>(*arguments[0]);
    selection.forEach([&](int64_t row) {
      if (values.IsValid(row)) add(groups[static_cast<size_t>(row)], values.Value(row), 1);
    });
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto& that = static_cast<const LongSum&>(other);
    for (size_t i = 0; i < from.size(); ++i) {
      add(to[i], that.sums_[from[i]], that.counts_[from[i]]);
      if (overflow_ == Overflow::Null) overflowed_[to[i]] |= that.overflowed_[from[i]];
    }
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    arrow::Int64Builder builder(pool);
    for (const uint32_t i : groups)
      throwIfFailed(hasSum(i) ? builder.Append(sums_[i]) : builder.AppendNull());
    return valueOrThrow(builder.Finish());
  }

  void reset(GroupsOfRows groups) override {
    clear(groups, &sums_);
    clear(groups, &counts_);
    if (overflow_ == Overflow::Null) clear(groups, &overflowed_);
  }
  Bytes bytes() const override { return {2 * sizeof(int64_t) + 1, 0}; }

  // A sum that may become null for another reason than that there is none says so.
  std::vector<StructField> bufferFields() const override {
    if (overflow_ != Overflow::Null) return {{"sum", longType(), true}};
    return {{"sum", longType(), true}, {"isEmpty", booleanType(), false}};
  }
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    if (overflow_ != Overflow::Null) return {finish(groups, pool)};
    arrow::Int64Builder sums(pool);
    arrow::BooleanBuilder empty(pool);
    for (const uint32_t i : groups) {
      throwIfFailed(overflowed_[i] ? sums.AppendNull() : sums.Append(sums_[i]));
      throwIfFailed(empty.Append(counts_[i] == 0));
    }
    return {valueOrThrow(sums.Finish()), valueOrThrow(empty.Finish())};
  }
  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    loadLongColumn(groups, *buffers[0], &sums_);
    for (size_t i = 0; i < groups.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      if (overflow_ != Overflow::Null) {
        counts_[groups[i]] = buffers[0]->IsValid(row) ? 1 : 0;
        continue;
      }
      overflowed_[groups[i]] = buffers[0]->IsNull(row);
      counts_[groups[i]] = static_cast<const arrow::BooleanArray&>(*buffers[1]).Value(row) ? 0 : 1;
    }
  }

 private:
  bool hasSum(uint32_t group) const {
    return counts_[group] > 0 && (overflow_ != Overflow::Null || !overflowed_[group]);
  }
  void add(uint32_t group, int64_t value, int64_t count) {
    int64_t& sum = sums_[group];
    counts_[group] += count;
    if (!__builtin_add_overflow(sum, value, &sum)) return;
    if (overflow_ == Overflow::Error) throwSumOverflow(*longType());
    if (overflow_ == Overflow::Null) overflowed_[group] = 1;
  }
  Overflow overflow_;
  std::vector<int64_t> sums_, counts_;
  std::vector<uint8_t> overflowed_;  // with Overflow::Null only
};

class DoubleSum final : public Aggregator {
 public:
  explicit DoubleSum(bool average) : average_(average) {}
  void resize(int64_t numGroups) override {
    sums_.resize(static_cast<size_t>(numGroups));
    counts_.resize(static_cast<size_t>(numGroups));
  }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    const auto& values = static_cast<const arrow::DoubleArray&>(*arguments[0]);
    selection.forEach([&](int64_t row) {
      if (values.IsNull(row)) return;
      const uint32_t group = groups[static_cast<size_t>(row)];
      sums_[group] += values.Value(row);
      ++counts_[group];
    });
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto& that = static_cast<const DoubleSum&>(other);
    for (size_t i = 0; i < from.size(); ++i) {
      sums_[to[i]] += that.sums_[from[i]];
      counts_[to[i]] += that.counts_[from[i]];
    }
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    arrow::DoubleBuilder builder(pool);
    for (const uint32_t i : groups) {
      if (!counts_[i])
        throwIfFailed(builder.AppendNull());
      else
        throwIfFailed(builder.Append(average_ ? sums_[i] / static_cast<double>(counts_[i]) : sums_[i]));
    }
    return valueOrThrow(builder.Finish());
  }

  void reset(GroupsOfRows groups) override {
    clear(groups, &sums_);
    clear(groups, &counts_);
  }
  Bytes bytes() const override { return {sizeof(double) + sizeof(int64_t), 0}; }
  std::vector<StructField> bufferFields() const override {
    if (!average_) return {{"sum", doubleType(), true}};
    return {{"sum", doubleType(), true}, {"count", longType(), true}};
  }
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    if (!average_) return {finish(groups, pool)};
    return {doubleColumn(sums_, groups, pool), longColumn(counts_, groups, pool)};
  }
  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    loadDoubleColumn(groups, *buffers[0], &sums_);
    for (size_t i = 0; i < groups.size(); ++i)
      counts_[groups[i]] = buffers[0]->IsValid(static_cast<int64_t>(i)) ? 1 : 0;
    if (average_) loadLongColumn(groups, *buffers[1], &counts_);
  }

 private:
  bool average_;
  std::vector<double> sums_;
  std::vector<int64_t> counts_;
};

}  // namespace

void throwSumOverflow(const DataType& type) {
  throw Error("ARITHMETIC_OVERFLOW",
              "A sum does not fit into " + type.sqlString() + "; use try_sum or sum a wider type.",
              {{"message", "long overflow"},
               {"alternative", " Use 'try_sum' to tolerate overflow and return NULL instead."},
               {"config", "\"spark.sql.ansi.enabled\""}});
}

std::unique_ptr<Aggregator> makeCount() {
  return std::make_unique<Count>(false);
}

std::unique_ptr<Aggregator> makeCountIf() {
  return std::make_unique<Count>(true);
}

std::unique_ptr<Aggregator> makeSum(const DataTypePtr& input, const DataTypePtr& result, Overflow overflow) {
  if (input->id() == TypeId::Decimal) return makeDecimalSum(input, result, overflow == Overflow::Error);
  if (result->id() == TypeId::Long) return std::make_unique<LongSum>(overflow);
  return std::make_unique<DoubleSum>(false);
}

std::unique_ptr<Aggregator> makeAverage(const DataTypePtr& input, const DataTypePtr& result,
                                        Overflow overflow) {
  if (input->id() == TypeId::Decimal) return makeDecimalAverage(input, result, overflow == Overflow::Error);
  return std::make_unique<DoubleSum>(true);
}

}  // namespace thalweg
