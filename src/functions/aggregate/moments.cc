// Variances, skewness and kurtosis, by Spark's formulas for adding a value and for merging two parts.
#include <array>
#include <cmath>
#include <optional>

#include "functions/aggregate/accumulators.h"
#include "functions/aggregate/group_columns.h"

namespace thalweg {
namespace {

struct Moments {
  // Number of values, their average, and the sums of powers 2 to 4 of their distances from it.
  double n = 0, avg = 0, m2 = 0, m3 = 0, m4 = 0;

  void add(double value) {
    n += 1;
    const double delta = value - avg;
    const double deltaN = delta / n;
    avg += deltaN;
    m2 += delta * (delta - deltaN);
    const double delta2 = delta * delta;
    const double deltaN2 = deltaN * deltaN;
    m3 = m3 - 3.0 * deltaN * m2 + delta * (delta2 - deltaN2);
    m4 = m4 - 4.0 * deltaN * m3 - 6.0 * deltaN2 * m2 + delta * (delta * delta2 - deltaN * deltaN2);
  }

  void add(const Moments& right) {
    const double n1 = n, n2 = right.n;
    const double delta = right.avg - avg;
    n = n1 + n2;
    const double deltaN = n == 0 ? 0 : delta / n;
    avg += deltaN * n2;
    m4 = m4 + right.m4 + deltaN * deltaN * deltaN * delta * n1 * n2 * (n1 * n1 - n1 * n2 + n2 * n2) +
         6.0 * deltaN * deltaN * (n1 * n1 * right.m2 + n2 * n2 * m2) +
         4.0 * deltaN * (n1 * right.m3 - n2 * m3);
    m3 = m3 + right.m3 + deltaN * deltaN * delta * n1 * n2 * (n1 - n2) +
         3.0 * deltaN * (n1 * right.m2 - n2 * m2);
    m2 += right.m2 + delta * deltaN * n1 * n2;
  }
};

using Member = double Moments::*;
constexpr std::array<std::pair<const char*, Member>, 5> kMembers = {{{"n", &Moments::n},
                                                                     {"avg", &Moments::avg},
                                                                     {"m2", &Moments::m2},
                                                                     {"m3", &Moments::m3},
                                                                     {"m4", &Moments::m4}}};

std::optional<double> resultOf(MomentResult result, const Moments& m) {
  const auto quotient = [](double sum, double divisor) {
    return divisor > 0 ? std::optional(sum / divisor) : std::nullopt;
  };
  switch (result) {
    case MomentResult::VarianceOfAll:
      return quotient(m.m2, m.n);
    case MomentResult::VarianceOfSample:
      return quotient(m.m2, m.n - 1);
    case MomentResult::DeviationOfAll:
      return m.n > 0 ? std::optional(std::sqrt(m.m2 / m.n)) : std::nullopt;
    case MomentResult::DeviationOfSample:
      return m.n > 1 ? std::optional(std::sqrt(m.m2 / (m.n - 1))) : std::nullopt;
    case MomentResult::Squares:
      return m.n > 0 ? std::optional(m.m2) : std::nullopt;
    case MomentResult::Skewness:
      return m.m2 == 0 ? std::nullopt : std::optional(std::sqrt(m.n) * m.m3 / std::sqrt(m.m2 * m.m2 * m.m2));
    case MomentResult::Kurtosis:
      return m.m2 == 0 ? std::nullopt : std::optional(m.n * m.m4 / (m.m2 * m.m2) - 3.0);
  }
  return std::nullopt;
}

class CentralMoments final : public Aggregator {
 public:
  explicit CentralMoments(MomentResult result)
      : result_(result),
        numMembers_(result == MomentResult::Kurtosis   ? 5
                    : result == MomentResult::Skewness ? 4
                                                       : 3) {}
  void resize(int64_t numGroups) override { groups_.resize(static_cast<size_t>(numGroups)); }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    const auto& values = static_cast<const arrow::DoubleArray&>(*arguments[0]);
    selection.forEach([&](int64_t row) {
      if (values.IsValid(row)) groups_[groups[static_cast<size_t>(row)]].add(values.Value(row));
    });
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto& that = static_cast<const CentralMoments&>(other);
    for (size_t i = 0; i < from.size(); ++i) groups_[to[i]].add(that.groups_[from[i]]);
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    arrow::DoubleBuilder builder(pool);
    for (const uint32_t group : groups)
      throwIfFailed(builder.AppendOrNull(resultOf(result_, groups_[group])));
    return valueOrThrow(builder.Finish());
  }

  void reset(GroupsOfRows groups) override { clear(groups, &groups_); }
  std::vector<StructField> bufferFields() const override {
    std::vector<StructField> fields;
    for (size_t i = 0; i < numMembers_; ++i) fields.push_back({kMembers[i].first, doubleType(), false});
    return fields;
  }
  Bytes bytes() const override { return {sizeof(Moments), 0}; }
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    Arrays columns;
    for (size_t i = 0; i < numMembers_; ++i) {
      arrow::DoubleBuilder column(pool);
      for (const uint32_t group : groups) throwIfFailed(column.Append(groups_[group].*kMembers[i].second));
      columns.push_back(valueOrThrow(column.Finish()));
    }
    return columns;
  }
  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    for (size_t member = 0; member < numMembers_; ++member) {
      const auto& column = static_cast<const arrow::DoubleArray&>(*buffers[member]);
      for (size_t i = 0; i < groups.size(); ++i)
        groups_[groups[i]].*kMembers[member].second = column.Value(static_cast<int64_t>(i));
    }
  }

 private:
  MomentResult result_;
  size_t numMembers_;
  std::vector<Moments> groups_;
};

}  // namespace

std::unique_ptr<Aggregator> makeCentralMoments(MomentResult result) {
  return std::make_unique<CentralMoments>(result);
}

}  // namespace thalweg
