// Sums and averages of decimals. Their layout at rest, and averages' rounding, are those of the plan that
// Spark's optimizer makes: few digits are summed unscaled, as longs or doubles.
#include <cmath>

#include <arrow/api.h>
#include <arrow/util/decimal.h>

#include "common/error.h"
#include "expr/cast/cast.h"
#include "functions/aggregate/accumulators.h"
#include "functions/aggregate/group_columns.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

// Up to these digits Spark sums unscaled longs, and averages unscaled values as doubles.
constexpr int kLongDigits = 18;
constexpr int kDoubleDigits = 15;

// Decimals sum in 256 bits; the result must fit its type. At rest a sum that fits a long for sure is one.
class DecimalSum final : public Aggregator {
 public:
  DecimalSum(const DataTypePtr& input, DataTypePtr result, bool average, bool ansi)
      : inputScale_(input->scale()),
        sumType_(DataType::decimal(std::min(38, input->precision() + 10), input->scale())),
        result_(std::move(result)),
        savesLongs_(!average && input->precision() + 10 <= kLongDigits),
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
  Bytes bytes() const override { return {sizeof(arrow::Decimal256) + sizeof(int64_t) + 1, 0}; }

  std::vector<StructField> bufferFields() const override {
    if (savesLongs_) return {{"sum", longType(), true}};
    if (average_) return {{"sum", sumType_, true}, {"count", longType(), true}};
    return {{"sum", sumType_, true}, {"isEmpty", booleanType(), false}};
  }

  // A sum that is null, of rows that there were, is one that did not fit.
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    if (savesLongs_) return {unscaledLongs(groups, pool)};
    arrow::Decimal128Builder sums(toArrowType(*sumType_), pool);
    arrow::BooleanBuilder empty(pool);
    for (const uint32_t group : groups) {
      const bool fits = !overflowed_[group] && sums_[group].FitsInPrecision(sumType_->precision());
      throwIfFailed(fits ? sums.Append(narrowed(sums_[group])) : sums.AppendNull());
      throwIfFailed(empty.Append(counts_[group] == 0));
    }
    const auto sumColumn = valueOrThrow(sums.Finish());
    return {sumColumn, average_ ? longColumn(counts_, groups, pool) : valueOrThrow(empty.Finish())};
  }

  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    if (savesLongs_) return loadUnscaledLongs(groups, static_cast<const arrow::Int64Array&>(*buffers[0]));
    const auto& sums = static_cast<const arrow::Decimal128Array&>(*buffers[0]);
    if (average_) loadLongColumn(groups, *buffers[1], &counts_);
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
  std::shared_ptr<arrow::Array> unscaledLongs(GroupsOfRows groups, arrow::MemoryPool* pool) const {
    arrow::Int64Builder sums(pool);
    for (const uint32_t group : groups) {
      const auto low = static_cast<int64_t>(sums_[group].little_endian_array()[0]);
      throwIfFailed(counts_[group] ? sums.Append(low) : sums.AppendNull());
    }
    return valueOrThrow(sums.Finish());
  }
  void loadUnscaledLongs(GroupsOfRows groups, const arrow::Int64Array& sums) {
    for (size_t i = 0; i < groups.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      if (sums.IsNull(row)) continue;
      sums_[groups[i]] = arrow::Decimal256(sums.Value(row));
      counts_[groups[i]] = 1;
    }
  }
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
  bool savesLongs_, average_, ansi_;
  std::vector<arrow::Decimal256> sums_;
  std::vector<int64_t> counts_;
  std::vector<uint8_t> overflowed_;  // where a saved sum did not fit
};

// The average of unscaled doubles, then scaled and rounded to its type: not always the exact average's
// rounding.
class UnscaledAverage final : public Aggregator {
 public:
  UnscaledAverage(const DataTypePtr& input, DataTypePtr result, bool ansi)
      : unit_(std::pow(10.0, input->scale())), result_(std::move(result)), ansi_(ansi) {}
  void resize(int64_t numGroups) override {
    sums_.resize(static_cast<size_t>(numGroups));
    counts_.resize(static_cast<size_t>(numGroups));
  }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    const auto& values = static_cast<const arrow::Decimal128Array&>(*arguments[0]);
    selection.forEach([&](int64_t row) {
      if (values.IsNull(row)) return;
      const uint32_t group = groups[static_cast<size_t>(row)];
      // At most 11 digits: the low word has them all.
      sums_[group] +=
          static_cast<double>(static_cast<int64_t>(arrow::Decimal128(values.GetValue(row)).low_bits()));
      ++counts_[group];
    });
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto& that = static_cast<const UnscaledAverage&>(other);
    for (size_t i = 0; i < from.size(); ++i) {
      sums_[to[i]] += that.sums_[from[i]];
      counts_[to[i]] += that.counts_[from[i]];
    }
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    arrow::DoubleBuilder averages(pool);
    for (const uint32_t i : groups) {
      const double average = sums_[i] / static_cast<double>(counts_[i]) / unit_;
      throwIfFailed(counts_[i] ? averages.Append(average) : averages.AppendNull());
    }
    const BatchContext batch;
    return castArray(valueOrThrow(averages.Finish()), *doubleType(), *result_,
                     ansi_ ? CastMode::Ansi : CastMode::Legacy, EvaluationContext{&batch});
  }

  void reset(GroupsOfRows groups) override {
    clear(groups, &sums_);
    clear(groups, &counts_);
  }
  Bytes bytes() const override { return {sizeof(double) + sizeof(int64_t), 0}; }
  std::vector<StructField> bufferFields() const override {
    return {{"sum", doubleType(), true}, {"count", longType(), true}};
  }
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return {doubleColumn(sums_, groups, pool), longColumn(counts_, groups, pool)};
  }
  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    loadDoubleColumn(groups, *buffers[0], &sums_);
    loadLongColumn(groups, *buffers[1], &counts_);
  }

 private:
  double unit_;
  DataTypePtr result_;
  bool ansi_;
  std::vector<double> sums_;
  std::vector<int64_t> counts_;
};

}  // namespace

std::unique_ptr<Aggregator> makeDecimalSum(const DataTypePtr& input, const DataTypePtr& result, bool ansi) {
  return std::make_unique<DecimalSum>(input, result, false, ansi);
}

std::unique_ptr<Aggregator> makeDecimalAverage(const DataTypePtr& input, const DataTypePtr& result,
                                               bool ansi) {
  if (input->precision() + 4 <= kDoubleDigits) return std::make_unique<UnscaledAverage>(input, result, ansi);
  return std::make_unique<DecimalSum>(input, result, true, ansi);
}

}  // namespace thalweg
