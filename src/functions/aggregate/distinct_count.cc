// approx_count_distinct: HyperLogLog++ over xxhash64 of the values, register for register as Spark has it.
#include <algorithm>
#include <bit>
#include <cmath>

#include "columnar/row_hash.h"
#include "functions/aggregate/accumulators.h"
#include "functions/aggregate/distinct_count_tables.h"
#include "functions/aggregate/group_columns.h"

namespace thalweg {
namespace {

constexpr int kRegisterBits = 6;
constexpr int kRegistersPerWord = 10;
constexpr uint64_t kRegisterMask = (1U << kRegisterBits) - 1;
constexpr int kNeighbors = 6;

// The mean bias of the nearest points to a raw estimate.
double estimatedBias(int precision, double estimate) {
  using namespace hyperloglog;
  const int index = precision - kMinPrecision;
  int begin = 0;
  for (int i = 0; i < index; ++i) begin += kNumPoints[i];
  const double* points = kRawEstimates + begin;
  const double* biases = kBiases + begin;
  const int count = kNumPoints[index];
  const auto distance = [&](int i) { return (estimate - points[i]) * (estimate - points[i]); };
  const int nearest = static_cast<int>(std::lower_bound(points, points + count, estimate) - points);
  int low = std::max(nearest - kNeighbors + 1, 0);
  int high = std::min(low + kNeighbors, count);
  while (high < count && distance(high) < distance(low)) {
    ++low;
    ++high;
  }
  double sum = 0;
  for (int i = low; i < high; ++i) sum += biases[i];
  return sum / (high - low);
}

class DistinctCount final : public Aggregator {
 public:
  DistinctCount(DataTypePtr type, int precision)
      : type_(std::move(type)),
        precision_(precision),
        numRegisters_(int64_t{1} << precision),
        numWords_(static_cast<size_t>(numRegisters_ / kRegistersPerWord + 1)) {}
  void resize(int64_t numGroups) override { words_.resize(static_cast<size_t>(numGroups) * numWords_); }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    const arrow::Array& values = *arguments[0];
    hashes_.assign(static_cast<size_t>(values.length()), kRowHashSeed);
    foldXxHash64(*type_, values, hashes_);
    selection.forEach([&](int64_t row) {
      if (values.IsValid(row)) add(groups[static_cast<size_t>(row)], hashes_[static_cast<size_t>(row)]);
    });
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto& that = static_cast<const DistinctCount&>(other);
    for (size_t i = 0; i < from.size(); ++i) {
      uint64_t* left = &words_[to[i] * numWords_];
      const uint64_t* right = &that.words_[from[i] * numWords_];
      for (size_t w = 0; w < numWords_; ++w) left[w] = greatest(left[w], right[w]);
    }
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    arrow::Int64Builder builder(pool);
    for (const uint32_t group : groups) throwIfFailed(builder.Append(estimate(group)));
    return valueOrThrow(builder.Finish());
  }

  void reset(GroupsOfRows groups) override {
    for (const uint32_t group : groups)
      std::fill_n(words_.begin() + static_cast<int64_t>(group * numWords_), numWords_, 0);
  }
  Bytes bytes() const override { return {static_cast<int64_t>(numWords_ * sizeof(uint64_t)), 0}; }
  std::vector<StructField> bufferFields() const override {
    std::vector<StructField> fields;
    for (size_t w = 0; w < numWords_; ++w)
      fields.push_back({"MS[" + std::to_string(w) + "]", longType(), true});
    return fields;
  }
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    Arrays columns;
    for (size_t w = 0; w < numWords_; ++w) {
      arrow::Int64Builder column(pool);
      for (const uint32_t group : groups)
        throwIfFailed(column.Append(static_cast<int64_t>(words_[group * numWords_ + w])));
      columns.push_back(valueOrThrow(column.Finish()));
    }
    return columns;
  }
  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    for (size_t w = 0; w < numWords_; ++w) {
      const auto& column = static_cast<const arrow::Int64Array&>(*buffers[w]);
      for (size_t i = 0; i < groups.size(); ++i)
        words_[groups[i] * numWords_ + w] = static_cast<uint64_t>(column.Value(static_cast<int64_t>(i)));
    }
  }

 private:
  static uint64_t greatest(uint64_t left, uint64_t right) {
    uint64_t word = 0;
    for (int shift = 0; shift < kRegisterBits * kRegistersPerWord; shift += kRegisterBits) {
      const uint64_t mask = kRegisterMask << shift;
      word |= std::max(left & mask, right & mask);
    }
    return word;
  }

  // The hash's first bits choose a register; it keeps the longest run of zeros behind them, and one more.
  void add(uint32_t group, uint64_t hash) {
    const uint64_t index = hash >> (64 - precision_);
    const uint64_t rest = (hash << precision_) | (uint64_t{1} << (precision_ - 1));
    const uint64_t zeros = static_cast<uint64_t>(std::countl_zero(rest)) + 1;
    uint64_t& word = words_[group * numWords_ + index / kRegistersPerWord];
    const int shift = kRegisterBits * static_cast<int>(index % kRegistersPerWord);
    if (zeros > ((word >> shift) & kRegisterMask))
      word = (word & ~(kRegisterMask << shift)) | (zeros << shift);
  }

  int64_t estimate(uint32_t group) const {
    using namespace hyperloglog;
    double inverseSum = 0, numZero = 0;
    for (int64_t i = 0; i < numRegisters_; ++i) {
      const uint64_t word = words_[group * numWords_ + static_cast<size_t>(i / kRegistersPerWord)];
      const uint64_t value = (word >> (kRegisterBits * (i % kRegistersPerWord))) & kRegisterMask;
      inverseSum += 1.0 / static_cast<double>(uint64_t{1} << value);
      if (value == 0) numZero += 1;
    }
    const auto m = static_cast<double>(numRegisters_);
    const double raw = alpha(m) * m * m / inverseSum;
    const bool hasTables = precision_ <= kMaxPrecision;
    const double unbiased = hasTables && raw < 5.0 * m ? raw - estimatedBias(precision_, raw) : raw;
    if (numZero == 0) return std::llround(unbiased);
    const double linear = m * std::log(m / numZero);
    const bool takesLinear =
        (hasTables && linear <= kLinearThresholds[precision_ - kMinPrecision]) || raw <= 2.5 * m;
    return std::llround(takesLinear ? linear : unbiased);
  }
  double alpha(double m) const {
    switch (precision_) {
      case 4:
        return 0.673;
      case 5:
        return 0.697;
      case 6:
        return 0.709;
      default:
        return 0.7213 / (1.0 + 1.079 / m);
    }
  }

  DataTypePtr type_;
  int precision_;
  int64_t numRegisters_;
  size_t numWords_;
  std::vector<uint64_t> words_;  // each group's, one after the other
  std::vector<uint64_t> hashes_;
};

}  // namespace

int distinctCountPrecision(double relativeError) {
  return static_cast<int>(std::ceil(2.0 * std::log(1.106 / relativeError) / std::log(2.0)));
}

std::unique_ptr<Aggregator> makeDistinctCount(const DataTypePtr& type, int precision) {
  return std::make_unique<DistinctCount>(type, precision);
}

}  // namespace thalweg
