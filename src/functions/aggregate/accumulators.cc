#include "functions/aggregate/accumulators.h"

#include <arrow/api.h>
#include <arrow/util/decimal.h>

#include "columnar/key_encoder.h"
#include "common/error.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

using Arrays = std::vector<std::shared_ptr<arrow::Array>>;
using GroupsOfRows = std::span<const uint32_t>;

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

  void merge(GroupsOfRows groups, const Aggregator& other) override {
    const auto& counts = static_cast<const Count&>(other).counts_;
    for (size_t i = 0; i < groups.size(); ++i) counts_[groups[i]] += counts[i];
  }

  std::shared_ptr<arrow::Array> finish(arrow::MemoryPool* pool) override {
    arrow::Int64Builder builder(pool);
    throwIfFailed(builder.AppendValues(counts_));
    return valueOrThrow(builder.Finish());
  }

 private:
  std::vector<int64_t> counts_;
};

[[noreturn]] void throwSumOverflow(const DataType& type) {
  throw Error("ARITHMETIC_OVERFLOW", "A sum does not fit into " + type.sqlString() + "; use try_sum or sum a wider type.",
              {{"message", "long overflow"}, {"alternative", " Use 'try_sum' to tolerate overflow and return NULL instead."},
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

  void merge(GroupsOfRows groups, const Aggregator& other) override {
    const auto& that = static_cast<const LongSum&>(other);
    for (size_t i = 0; i < groups.size(); ++i) add(groups[i], that.sums_[i], that.counts_[i]);
  }

  std::shared_ptr<arrow::Array> finish(arrow::MemoryPool* pool) override {
    arrow::Int64Builder builder(pool);
    for (size_t i = 0; i < sums_.size(); ++i) throwIfFailed(counts_[i] ? builder.Append(sums_[i]) : builder.AppendNull());
    return valueOrThrow(builder.Finish());
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

  void merge(GroupsOfRows groups, const Aggregator& other) override {
    const auto& that = static_cast<const DoubleSum&>(other);
    for (size_t i = 0; i < groups.size(); ++i) {
      sums_[groups[i]] += that.sums_[i];
      counts_[groups[i]] += that.counts_[i];
    }
  }

  std::shared_ptr<arrow::Array> finish(arrow::MemoryPool* pool) override {
    arrow::DoubleBuilder builder(pool);
    for (size_t i = 0; i < sums_.size(); ++i) {
      if (!counts_[i]) throwIfFailed(builder.AppendNull());
      else throwIfFailed(builder.Append(average_ ? sums_[i] / static_cast<double>(counts_[i]) : sums_[i]));
    }
    return valueOrThrow(builder.Finish());
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
      : inputScale_(input->scale()), result_(std::move(result)), average_(average), ansi_(ansi) {}
  void resize(int64_t numGroups) override {
    sums_.resize(static_cast<size_t>(numGroups));
    counts_.resize(static_cast<size_t>(numGroups));
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

  void merge(GroupsOfRows groups, const Aggregator& other) override {
    const auto& that = static_cast<const DecimalSum&>(other);
    for (size_t i = 0; i < groups.size(); ++i) {
      sums_[groups[i]] += that.sums_[i];
      counts_[groups[i]] += that.counts_[i];
    }
  }

  std::shared_ptr<arrow::Array> finish(arrow::MemoryPool* pool) override {
    arrow::Decimal128Builder builder(toArrowType(*result_), pool);
    for (size_t i = 0; i < sums_.size(); ++i) {
      if (!counts_[i]) {
        throwIfFailed(builder.AppendNull());
        continue;
      }
      const arrow::Decimal256 value = resultOf(i);
      if (!value.FitsInPrecision(result_->precision())) {
        if (ansi_) throwSumOverflow(*result_);
        throwIfFailed(builder.AppendNull());
        continue;
      }
      const auto words = value.little_endian_array();
      throwIfFailed(builder.Append(arrow::Decimal128(static_cast<int64_t>(words[1]), words[0])));
    }
    return valueOrThrow(builder.Finish());
  }

 private:
  arrow::Decimal256 resultOf(size_t group) const {
    if (!average_) return sums_[group];
    // One digit more than asked, so that the last one rounds HALF_UP.
    const arrow::Decimal256 scaled(sums_[group].IncreaseScaleBy(result_->scale() - inputScale_ + 1));
    return arrow::Decimal256((scaled / arrow::Decimal256(counts_[group])).ReduceScaleBy(1, /*round=*/true));
  }
  int inputScale_;
  DataTypePtr result_;
  bool average_, ansi_;
  std::vector<arrow::Decimal256> sums_;
  std::vector<int64_t> counts_;
};

// Keeps, for each group, the scalar that won so far and its encoded key.
class Extreme final : public Aggregator {
 public:
  Extreme(DataTypePtr type, bool least) : type_(std::move(type)), least_(least), encoder_({{type_}}) {}
  void resize(int64_t numGroups) override {
    keys_.resize(static_cast<size_t>(numGroups));
    values_.resize(static_cast<size_t>(numGroups));
  }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    std::string key;
    selection.forEach([&](int64_t row) {
      if (arguments[0]->IsNull(row)) return;
      key.clear();
      encoder_.append(arguments, row, &key);
      const uint32_t group = groups[static_cast<size_t>(row)];
      if (!better(key, group)) return;
      keys_[group] = key;
      values_[group] = valueOrThrow(arguments[0]->GetScalar(row));
    });
  }

  void merge(GroupsOfRows groups, const Aggregator& other) override {
    const auto& that = static_cast<const Extreme&>(other);
    for (size_t i = 0; i < groups.size(); ++i) {
      if (!that.values_[i] || !better(that.keys_[i], groups[i])) continue;
      keys_[groups[i]] = that.keys_[i];
      values_[groups[i]] = that.values_[i];
    }
  }

  std::shared_ptr<arrow::Array> finish(arrow::MemoryPool* pool) override {
    std::unique_ptr<arrow::ArrayBuilder> builder;
    throwIfFailed(arrow::MakeBuilder(pool, toArrowType(*type_), &builder));
    for (const auto& value : values_) throwIfFailed(value ? builder->AppendScalar(*value) : builder->AppendNull());
    return valueOrThrow(builder->Finish());
  }

 private:
  bool better(const std::string& key, uint32_t group) const {
    return !values_[group] || (least_ ? key < keys_[group] : key > keys_[group]);
  }
  DataTypePtr type_;
  bool least_;
  KeyEncoder encoder_;
  std::vector<std::string> keys_;
  std::vector<std::shared_ptr<arrow::Scalar>> values_;
};

class First final : public Aggregator {
 public:
  First(DataTypePtr type, bool last, bool ignoreNulls) : type_(std::move(type)), last_(last), ignoreNulls_(ignoreNulls) {}
  void resize(int64_t numGroups) override { values_.resize(static_cast<size_t>(numGroups)); }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    selection.forEach([&](int64_t row) {
      auto& value = values_[groups[static_cast<size_t>(row)]];
      if ((value && !last_) || (ignoreNulls_ && arguments[0]->IsNull(row))) return;
      value = valueOrThrow(arguments[0]->GetScalar(row));
    });
  }

  void merge(GroupsOfRows groups, const Aggregator& other) override {
    const auto& that = static_cast<const First&>(other);
    for (size_t i = 0; i < groups.size(); ++i) {
      if (that.values_[i] && (last_ || !values_[groups[i]])) values_[groups[i]] = that.values_[i];
    }
  }

  std::shared_ptr<arrow::Array> finish(arrow::MemoryPool* pool) override {
    std::unique_ptr<arrow::ArrayBuilder> builder;
    throwIfFailed(arrow::MakeBuilder(pool, toArrowType(*type_), &builder));
    for (const auto& value : values_) throwIfFailed(value ? builder->AppendScalar(*value) : builder->AppendNull());
    return valueOrThrow(builder->Finish());
  }

 private:
  DataTypePtr type_;
  bool last_, ignoreNulls_;
  std::vector<std::shared_ptr<arrow::Scalar>> values_;
};

}  // namespace

std::unique_ptr<Aggregator> makeCount() { return std::make_unique<Count>(); }

std::unique_ptr<Aggregator> makeSum(const DataTypePtr& input, const DataTypePtr& result, bool ansi) {
  if (input->id() == TypeId::Decimal) return std::make_unique<DecimalSum>(input, result, false, ansi);
  if (result->id() == TypeId::Long) return std::make_unique<LongSum>(ansi);
  return std::make_unique<DoubleSum>(false);
}

std::unique_ptr<Aggregator> makeAverage(const DataTypePtr& input, const DataTypePtr& result, bool ansi) {
  if (input->id() == TypeId::Decimal) return std::make_unique<DecimalSum>(input, result, true, ansi);
  return std::make_unique<DoubleSum>(true);
}

std::unique_ptr<Aggregator> makeExtreme(const DataTypePtr& type, bool least) { return std::make_unique<Extreme>(type, least); }

std::unique_ptr<Aggregator> makeFirst(const DataTypePtr& type, bool last, bool ignoreNulls) {
  return std::make_unique<First>(type, last, ignoreNulls);
}

}  // namespace thalweg
