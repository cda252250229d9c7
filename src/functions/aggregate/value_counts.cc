#include "functions/aggregate/value_counts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "columnar/binary_row.h"
#include "columnar/key_encoder.h"
#include "common/big_endian.h"
#include "common/error.h"
#include "functions/aggregate/accumulators.h"
#include "functions/aggregate/percentile_values.h"

namespace thalweg {
namespace {

[[noreturn]] void throwMalformed() {
  throw Error("STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE",
              "The state of an aggregate function holds counts of values cut short.",
              {{"errorMsg", "counts of values are cut short"}});
}

int32_t readBigEndian(std::string_view* bytes) {
  if (bytes->size() < 4) throwMalformed();
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>((*bytes)[static_cast<size_t>(i)]);
  bytes->remove_prefix(4);
  return static_cast<int32_t>(value);
}

// What all aggregates over counts of values share; the weight of a row is 1, or a second argument.
class ValueCounts : public Aggregator {
 public:
  explicit ValueCounts(const DataTypePtr& type) : type_(type), sets_(type) {}
  void resize(int64_t numGroups) override { sets_.resize(numGroups); }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    std::vector<int32_t> rows;
    std::vector<int64_t> weights;
    const auto* frequencies =
        arguments.size() > 1 ? static_cast<const arrow::Int64Array*>(arguments[1].get()) : nullptr;
    selection.forEach([&](int64_t row) {
      if (arguments[0]->IsNull(row) ||
          (frequencies && (frequencies->IsNull(row) || frequencies->Value(row) == 0)))
        return;
      if (frequencies) weights.push_back(checkedWeight(frequencies->Value(row)));
      rows.push_back(static_cast<int32_t>(row));
    });
    sets_.add(groups, arguments[0], rows, weights);
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto contents =
        static_cast<const ValueCounts&>(other).sets_.contents(from, arrow::default_memory_pool());
    sets_.addLists(to, contents.sizes, contents.values, contents.weights);
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return resultOf(sets_.contents(groups, pool), pool);
  }

  void reset(GroupsOfRows groups) override { sets_.reset(groups); }
  std::vector<StructField> bufferFields() const override { return {{"buf", binaryType(), true}}; }
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return {encodeCounts(type_, sets_.contents(groups, pool), pool)};
  }
  Bytes bytes() const override { return sets_.bytes(); }
  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    const auto contents = decodeCounts(type_, *buffers[0]);
    sets_.addLists(groups, contents.sizes, contents.values, contents.weights);
  }

 protected:
  virtual std::shared_ptr<arrow::Array> resultOf(const GroupSets::Contents& contents,
                                                 arrow::MemoryPool* pool) const = 0;
  const DataTypePtr& type() const { return type_; }

 private:
  static int64_t checkedWeight(int64_t frequency) {
    if (frequency >= 0) return frequency;
    throw Error("NEGATIVE_VALUES_IN_FREQUENCY_EXPRESSION",
                "A value's frequency is " + std::to_string(frequency) + ", but must not be negative.",
                {{"frequencyExpression", "\"frequency\""}, {"negativeValue", std::to_string(frequency)}});
  }
  DataTypePtr type_;
  GroupSets sets_;
};

// The most frequent value; of several the first that came, or the least or greatest.
class Mode final : public ValueCounts {
 public:
  Mode(const DataTypePtr& type, ModeTie tie) : ValueCounts(type), tie_(tie), encoder_({{type}}) {}

 protected:
  std::shared_ptr<arrow::Array> resultOf(const GroupSets::Contents& contents,
                                         arrow::MemoryPool* pool) const override {
    int64_t begin = 0;
    std::unique_ptr<arrow::ArrayBuilder> builder;
    throwIfFailed(arrow::MakeBuilder(pool, toArrowType(*type()), &builder));
    const arrow::ArraySpan values(*contents.values->data());
    for (const int32_t size : contents.sizes) {
      if (size == 0)
        throwIfFailed(builder->AppendNull());
      else
        throwIfFailed(builder->AppendArraySlice(values, winner(contents, begin, begin + size), 1));
      begin += size;
    }
    return valueOrThrow(builder->Finish());
  }

 private:
  int64_t winner(const GroupSets::Contents& contents, int64_t begin, int64_t end) const {
    int64_t best = begin;
    for (int64_t i = begin + 1; i < end; ++i) {
      const int64_t weight = contents.weights[static_cast<size_t>(i)],
                    held = contents.weights[static_cast<size_t>(best)];
      if (weight > held || (weight == held && tie_ != ModeTie::First && wins(contents.values, i, best)))
        best = i;
    }
    return best;
  }
  bool wins(const std::shared_ptr<arrow::Array>& values, int64_t i, int64_t held) const {
    std::string left, right;
    encoder_.append({values}, i, &left);
    encoder_.append({values}, held, &right);
    return tie_ == ModeTie::Least ? left < right : left > right;
  }
  ModeTie tie_;
  KeyEncoder encoder_;
};

class Percentile final : public ValueCounts {
 public:
  Percentile(const DataTypePtr& type, PercentileSpec spec) : ValueCounts(type), spec_(std::move(spec)) {}

 protected:
  std::shared_ptr<arrow::Array> resultOf(const GroupSets::Contents& contents,
                                         arrow::MemoryPool* pool) const override {
    const auto numbers = toDoubles(contents.values, *type());
    const auto& values = static_cast<const arrow::DoubleArray&>(*numbers);
    PercentileResults results(spec_.isArray, pool);
    int64_t begin = 0;
    for (const int32_t size : contents.sizes) {
      if (size == 0)
        results.addNull();
      else
        results.add(percentilesOf(values, contents.weights, begin, begin + size));
      begin += size;
    }
    return results.finish(type()->isNumeric() ? doubleType() : type());
  }

 private:
  struct Entry {
    double value;
    int64_t count;  // with all entries before
  };
  std::vector<double> percentilesOf(const arrow::DoubleArray& values, const std::vector<int64_t>& weights,
                                    int64_t begin, int64_t end) const {
    std::vector<Entry> entries;
    for (int64_t i = begin; i < end; ++i)
      entries.push_back({values.Value(i), weights[static_cast<size_t>(i)]});
    const auto less = [](double a, double b) { return a < b || (!std::isnan(a) && std::isnan(b)); };
    std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
      return spec_.descending ? less(b.value, a.value) : less(a.value, b.value);
    });
    for (size_t i = 1; i < entries.size(); ++i) entries[i].count += entries[i - 1].count;
    std::vector<double> results;
    for (const double percentage : spec_.percentages)
      results.push_back(spec_.discrete ? discrete(entries, percentage) : interpolated(entries, percentage));
    return results;
  }
  static double valueAt(const std::vector<Entry>& entries, int64_t count) {
    const auto it = std::lower_bound(entries.begin(), entries.end(), count,
                                     [](const Entry& entry, int64_t wanted) { return entry.count < wanted; });
    return it == entries.end() ? entries.back().value : it->value;
  }
  static double interpolated(const std::vector<Entry>& entries, double percentage) {
    const double position = static_cast<double>(entries.back().count - 1) * percentage;
    const double lower = std::floor(position), higher = std::ceil(position);
    const double low = valueAt(entries, static_cast<int64_t>(lower) + 1);
    const double high = valueAt(entries, static_cast<int64_t>(higher) + 1);
    if (lower == higher || low == high) return low;
    return (higher - position) * low + (position - lower) * high;
  }
  // The first value up to which there are enough.
  static double discrete(const std::vector<Entry>& entries, double percentage) {
    return valueAt(entries,
                   static_cast<int64_t>(std::ceil(static_cast<double>(entries.back().count) * percentage)));
  }
  PercentileSpec spec_;
};

}  // namespace

std::shared_ptr<arrow::Array> encodeCounts(const DataTypePtr& type, const GroupSets::Contents& contents,
                                           arrow::MemoryPool* pool) {
  std::vector<uint32_t> all(contents.weights.size());
  std::iota(all.begin(), all.end(), 0U);
  const auto weights = longColumn(contents.weights, all, pool);
  BinaryRows rows;
  BinaryRowEncoder({type, longType()})
      .encode({contents.values, weights}, 0, contents.values->length(), &rows);
  arrow::BinaryBuilder builder(pool);
  std::string bytes;
  size_t row = 0;
  for (const int32_t size : contents.sizes) {
    bytes.clear();
    for (int32_t i = 0; i < size; ++i, ++row) {
      appendBigEndian(static_cast<int32_t>(rows[row].size()), &bytes);
      bytes += rows[row];
    }
    appendBigEndian(-1, &bytes);
    throwIfFailed(builder.Append(bytes));
  }
  return valueOrThrow(builder.Finish());
}

GroupSets::Contents decodeCounts(const DataTypePtr& type, const arrow::Array& column) {
  const auto& cells = static_cast<const arrow::BinaryArray&>(column);
  GroupSets::Contents contents;
  std::vector<std::string_view> rows;
  for (int64_t cell = 0; cell < cells.length(); ++cell) {
    std::string_view bytes =
        cells.IsNull(cell) ? std::string_view("\xff\xff\xff\xff", 4) : cells.GetView(cell);
    int32_t size = 0, numRows = 0;
    while ((size = readBigEndian(&bytes)) >= 0) {
      if (static_cast<size_t>(size) > bytes.size()) throwMalformed();
      rows.push_back(bytes.substr(0, static_cast<size_t>(size)));
      bytes.remove_prefix(static_cast<size_t>(size));
      ++numRows;
    }
    contents.sizes.push_back(numRows);
  }
  BinaryRowDecoder decoder({type, longType()}, BinaryRowDecoder::Role::Value, arrow::default_memory_pool());
  decoder.append(rows);
  const auto columns = decoder.finish();
  contents.values = columns[0];
  const auto& weights = static_cast<const arrow::Int64Array&>(*columns[1]);
  for (int64_t i = 0; i < weights.length(); ++i)
    contents.weights.push_back(weights.IsNull(i) ? 0 : weights.Value(i));
  return contents;
}

std::unique_ptr<Aggregator> makeMode(const DataTypePtr& type, ModeTie tie) {
  return std::make_unique<Mode>(type, tie);
}

std::unique_ptr<Aggregator> makePercentile(const DataTypePtr& type, PercentileSpec spec) {
  return std::make_unique<Percentile>(type, std::move(spec));
}

}  // namespace thalweg
