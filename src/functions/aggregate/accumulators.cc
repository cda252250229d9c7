#include "functions/aggregate/accumulators.h"

#include <arrow/api.h>
#include <arrow/util/decimal.h>

#include "common/error.h"
#include "functions/aggregate/group_columns.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

std::shared_ptr<arrow::Array> longs(const std::vector<int64_t>& values, GroupsOfRows groups,
                                    arrow::MemoryPool* pool) {
  arrow::Int64Builder builder(pool);
  throwIfFailed(builder.Reserve(static_cast<int64_t>(groups.size())));
  for (const uint32_t group : groups) builder.UnsafeAppend(values[group]);
  return valueOrThrow(builder.Finish());
}

void loadLongs(GroupsOfRows groups, const arrow::Array& saved, std::vector<int64_t>* values) {
  const auto& column = static_cast<const arrow::Int64Array&>(saved);
  for (size_t i = 0; i < groups.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    (*values)[groups[i]] = column.IsNull(row) ? 0 : column.Value(row);
  }
}

class Count final : public Aggregator {
 public:
  void resize(int64_t numGroups) override { counts_.resize(static_cast<size_t>(numGroups)); }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    selection.forEach([&](int64_t row) {
      for (const auto& argument : arguments) {
        if (argument->IsNull(row)) return;
      }
      ++counts_[groups[static_cast<size_t>(row)]];
    });
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto& counts = static_cast<const Count&>(other).counts_;
    for (size_t i = 0; i < from.size(); ++i) counts_[to[i]] += counts[from[i]];
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return longs(counts_, groups, pool);
  }

  void reset(GroupsOfRows groups) override { clear(groups, &counts_); }
  std::vector<StructField> bufferFields() const override { return {{"count", longType(), false}}; }
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return {longs(counts_, groups, pool)};
  }
  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    loadLongs(groups, *buffers[0], &counts_);
  }

 private:
  std::vector<int64_t> counts_;
};

[[noreturn]] void throwSumOverflow(const DataType& type) {
  throw Error("ARITHMETIC_OVERFLOW",
              "A sum does not fit into " + type.sqlString() + "; use try_sum or sum a wider type.",
              {{"message", "long overflow"},
               {"alternative", " Use 'try_sum' to tolerate overflow and return NULL instead."},
               {"config", "\"spark.sql.ansi.enabled\""}});
}

// Sums and counts of non-null rows, for SUM (count > 0) and AVG.
class LongSum final : public Aggregator {
 public:
  explicit LongSum(bool ansi) : ansi_(ansi) {}
  void resize(int64_t numGroups) override {
    sums_.resize(static_cast<size_t>(numGroups));
    counts_.resize(static_cast<size_t>(numGroups));
  }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    const auto& values = static_cast<const arrow::Int64Array&>(*arguments[0]);
    selection.forEach([&](int64_t row) {
      if (values.IsValid(row)) add(groups[static_cast<size_t>(row)], values.Value(row), 1);
    });
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto& that = static_cast<const LongSum&>(other);
    for (size_t i = 0; i < from.size(); ++i) add(to[i], that.sums_[from[i]], that.counts_[from[i]]);
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    arrow::Int64Builder builder(pool);
    for (const uint32_t i : groups)
      throwIfFailed(counts_[i] ? builder.Append(sums_[i]) : builder.AppendNull());
    return valueOrThrow(builder.Finish());
  }

  void reset(GroupsOfRows groups) override {
    clear(groups, &sums_);
    clear(groups, &counts_);
  }
  std::vector<StructField> bufferFields() const override { return {{"sum", longType(), true}}; }
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return {finish(groups, pool)};
  }
  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    loadLongs(groups, *buffers[0], &sums_);
    for (size_t i = 0; i < groups.size(); ++i)
      counts_[groups[i]] = buffers[0]->IsValid(static_cast<int64_t>(i)) ? 1 : 0;
  }

 private:
  void add(uint32_t group, int64_t value, int64_t count) {
    int64_t& sum = sums_[group];
    if (__builtin_add_overflow(sum, value, &sum) && ansi_) throwSumOverflow(*longType());
    counts_[group] += count;
  }
  bool ansi_;
  std::vector<int64_t> sums_, counts_;
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
  std::vector<StructField> bufferFields() const override {
    if (!average_) return {{"sum", doubleType(), true}};
    return {{"sum", doubleType(), true}, {"count", longType(), true}};
  }
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    if (!average_) return {finish(groups, pool)};
    arrow::DoubleBuilder sums(pool);
    for (const uint32_t group : groups) throwIfFailed(sums.Append(sums_[group]));
    return {valueOrThrow(sums.Finish()), longs(counts_, groups, pool)};
  }
  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    const auto& sums = static_cast<const arrow::DoubleArray&>(*buffers[0]);
    for (size_t i = 0; i < groups.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      sums_[groups[i]] = sums.IsNull(row) ? 0 : sums.Value(row);
      counts_[groups[i]] = sums.IsNull(row) ? 0 : 1;
    }
    if (average_) loadLongs(groups, *buffers[1], &counts_);
  }

 private:
  bool average_;
  std::vector<double> sums_;
  std::vector<int64_t> counts_;
};

// Decimals sum in 256 bits; the result must fit its type.
class DecimalSum final : public Aggregator {
 public:
  DecimalSum(const DataTypePtr& input, DataTypePtr result, bool average, bool ansi)
      : inputScale_(input->scale()),
        sumType_(DataType::decimal(std::min(38, input->precision() + 10), input->scale())),
        result_(std::move(result)),
        average_(average),
        ansi_(ansi) {}
  void resize(int64_t numGroups) override {
    sums_.resize(static_cast<size_t>(numGroups));
    counts_.resize(static_cast<size_t>(numGroups));
    overflowed_.resize(static_cast<size_t>(numGroups));
  }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    const auto& values = static_cast<const arrow::Decimal128Array&>(*arguments[0]);
    selection.forEach([&](int64_t row) {
      if (values.IsNull(row)) return;
      const uint32_t group = groups[static_cast<size_t>(row)];
      sums_[group] += arrow::Decimal256(arrow::Decimal128(values.GetValue(row)));
      ++counts_[group];
    });
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto& that = static_cast<const DecimalSum&>(other);
    for (size_t i = 0; i < from.size(); ++i) {
      sums_[to[i]] += that.sums_[from[i]];
      counts_[to[i]] += that.counts_[from[i]];
      overflowed_[to[i]] |= that.overflowed_[from[i]];
    }
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    arrow::Decimal128Builder builder(toArrowType(*result_), pool);
    for (const uint32_t i : groups) {
      if (!counts_[i]) {
        throwIfFailed(builder.AppendNull());
        continue;
      }
      const arrow::Decimal256 value = resultOf(i);
      const bool fits = !overflowed_[i] && value.FitsInPrecision(result_->precision());
      if (!fits && ansi_) throwSumOverflow(*result_);
      throwIfFailed(fits ? builder.Append(narrowed(value)) : builder.AppendNull());
    }
    return valueOrThrow(builder.Finish());
  }

  void reset(GroupsOfRows groups) override {
    clear(groups, &sums_);
    clear(groups, &counts_);
    clear(groups, &overflowed_);
  }

  std::vector<StructField> bufferFields() const override {
    if (average_) return {{"sum", sumType_, true}, {"count", longType(), true}};
    return {{"sum", sumType_, true}, {"isEmpty", booleanType(), false}};
  }

  // A sum that is null, of rows that there were, is one that did not fit.
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    arrow::Decimal128Builder sums(toArrowType(*sumType_), pool);
    arrow::BooleanBuilder empty(pool);
    for (const uint32_t group : groups) {
      const bool fits = !overflowed_[group] && sums_[group].FitsInPrecision(sumType_->precision());
      throwIfFailed(fits ? sums.Append(narrowed(sums_[group])) : sums.AppendNull());
      throwIfFailed(empty.Append(counts_[group] == 0));
    }
    const auto sumColumn = valueOrThrow(sums.Finish());
    return {sumColumn, average_ ? longs(counts_, groups, pool) : valueOrThrow(empty.Finish())};
  }

  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    const auto& sums = static_cast<const arrow::Decimal128Array&>(*buffers[0]);
    if (average_) loadLongs(groups, *buffers[1], &counts_);
    for (size_t i = 0; i < groups.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      if (!average_)
        counts_[groups[i]] = static_cast<const arrow::BooleanArray&>(*buffers[1]).Value(row) ? 0 : 1;
      if (sums.IsValid(row))
        sums_[groups[i]] = arrow::Decimal256(arrow::Decimal128(sums.GetValue(row)));
      else
        overflowed_[groups[i]] = counts_[groups[i]] > 0;
    }
  }

 private:
  static arrow::Decimal128 narrowed(const arrow::Decimal256& value) {
    const auto words = value.little_endian_array();
    return arrow::Decimal128(static_cast<int64_t>(words[1]), words[0]);
  }
  arrow::Decimal256 resultOf(size_t group) const {
    if (!average_) return sums_[group];
    // One digit more than asked, so that the last one rounds HALF_UP.
    const arrow::Decimal256 scaled(sums_[group].IncreaseScaleBy(result_->scale() - inputScale_ + 1));
    return arrow::Decimal256((scaled / arrow::Decimal256(counts_[group])).ReduceScaleBy(1, /*round=*/true));
  }
  int inputScale_;
  DataTypePtr sumType_, result_;
  bool average_, ansi_;
  std::vector<arrow::Decimal256> sums_;
  std::vector<int64_t> counts_;
  std::vector<uint8_t> overflowed_;  // where a saved sum did not fit
};

class First final : public Aggregator {
 public:
  First(DataTypePtr type, bool last, bool ignoreNulls)
      : type_(std::move(type)), last_(last), ignoreNulls_(ignoreNulls) {}
  void resize(int64_t numGroups) override { values_.resize(static_cast<size_t>(numGroups)); }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    selection.forEach([&](int64_t row) {
      auto& value = values_[groups[static_cast<size_t>(row)]];
      if ((value && !last_) || (ignoreNulls_ && arguments[0]->IsNull(row))) return;
      value = valueOrThrow(arguments[0]->GetScalar(row));
    });
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto& that = static_cast<const First&>(other);
    for (size_t i = 0; i < from.size(); ++i) {
      if (that.values_[from[i]] && (last_ || !values_[to[i]])) values_[to[i]] = that.values_[from[i]];
    }
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return scalars(*type_, values_, groups, pool);
  }

  void reset(GroupsOfRows groups) override { clear(groups, &values_); }
  std::vector<StructField> bufferFields() const override {
    return {{last_ ? "last" : "first", type_, true}, {"valueSet", booleanType(), true}};
  }
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    arrow::BooleanBuilder valueSet(pool);
    for (const uint32_t group : groups) throwIfFailed(valueSet.Append(values_[group] != nullptr));
    return {finish(groups, pool), valueOrThrow(valueSet.Finish())};
  }
  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    const auto& valueSet = static_cast<const arrow::BooleanArray&>(*buffers[1]);
    for (size_t i = 0; i < groups.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      if (valueSet.IsValid(row) && valueSet.Value(row))
        values_[groups[i]] = valueOrThrow(buffers[0]->GetScalar(row));
    }
  }

 private:
  DataTypePtr type_;
  bool last_, ignoreNulls_;
  std::vector<std::shared_ptr<arrow::Scalar>> values_;
};

}  // namespace

std::unique_ptr<Aggregator> makeCount() {
  return std::make_unique<Count>();
}

std::unique_ptr<Aggregator> makeSum(const DataTypePtr& input, const DataTypePtr& result, bool ansi) {
  if (input->id() == TypeId::Decimal) return std::make_unique<DecimalSum>(input, result, false, ansi);
  if (result->id() == TypeId::Long) return std::make_unique<LongSum>(ansi);
  return std::make_unique<DoubleSum>(false);
}

std::unique_ptr<Aggregator> makeAverage(const DataTypePtr& input, const DataTypePtr& result, bool ansi) {
  if (input->id() == TypeId::Decimal) return std::make_unique<DecimalSum>(input, result, true, ansi);
  return std::make_unique<DoubleSum>(true);
}

std::unique_ptr<Aggregator> makeFirst(const DataTypePtr& type, bool last, bool ignoreNulls) {
  return std::make_unique<First>(type, last, ignoreNulls);
}

}  // namespace thalweg
