// Variances and standard deviations, by Spark's formulas for adding a value and for merging two parts.
#include <cmath>

#include "functions/aggregate/accumulators.h"
#include "functions/aggregate/group_columns.h"

namespace thalweg {
namespace {

class CentralMoments final : public Aggregator {
 public:
  explicit CentralMoments(MomentResult result) : result_(result) {}
  void resize(int64_t numGroups) override { groups_.resize(static_cast<size_t>(numGroups)); }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    const auto& values = static_cast<const arrow::DoubleArray&>(*arguments[0]);
    selection.forEach([&](int64_t row) {
      if (values.IsNull(row)) return;
      Moments& moments = groups_[groups[static_cast<size_t>(row)]];
      moments.n += 1;
      const double delta = values.Value(row) - moments.avg;
      const double deltaN = delta / moments.n;
      moments.avg += deltaN;
      moments.m2 += delta * (delta - deltaN);
    });
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto& that = static_cast<const CentralMoments&>(other);
    for (size_t i = 0; i < from.size(); ++i) {
      Moments& left = groups_[to[i]];
      const Moments& right = that.groups_[from[i]];
      const double n = left.n + right.n;
      const double delta = right.avg - left.avg;
      const double deltaN = n == 0 ? 0 : delta / n;
      left.m2 += right.m2 + delta * deltaN * left.n * right.n;
      left.avg += deltaN * right.n;
      left.n = n;
    }
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    arrow::DoubleBuilder builder(pool);
    for (const uint32_t group : groups) {
      const Moments& moments = groups_[group];
      const double divisor = result_.ofSample ? moments.n - 1 : moments.n;
      if (divisor <= 0)
        throwIfFailed(builder.AppendNull());
      else
        throwIfFailed(
            builder.Append(result_.squareRoot ? std::sqrt(moments.m2 / divisor) : moments.m2 / divisor));
    }
    return valueOrThrow(builder.Finish());
  }

  void reset(GroupsOfRows groups) override { clear(groups, &groups_); }
  std::vector<StructField> bufferFields() const override {
    return {{"n", doubleType(), false}, {"avg", doubleType(), false}, {"m2", doubleType(), false}};
  }
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    arrow::DoubleBuilder n(pool), avg(pool), m2(pool);
    for (const uint32_t group : groups) {
      throwIfFailed(n.Append(groups_[group].n));
      throwIfFailed(avg.Append(groups_[group].avg));
      throwIfFailed(m2.Append(groups_[group].m2));
    }
    return {valueOrThrow(n.Finish()), valueOrThrow(avg.Finish()), valueOrThrow(m2.Finish())};
  }
  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    const auto value = [&](size_t column, size_t row) {
      return static_cast<const arrow::DoubleArray&>(*buffers[column]).Value(static_cast<int64_t>(row));
    };
    for (size_t i = 0; i < groups.size(); ++i) groups_[groups[i]] = {value(0, i), value(1, i), value(2, i)};
  }

 private:
  struct Moments {
    double n = 0, avg = 0, m2 = 0;
  };
  MomentResult result_;
  std::vector<Moments> groups_;
};

}  // namespace

std::unique_ptr<Aggregator> makeCentralMoments(MomentResult result) {
  return std::make_unique<CentralMoments>(result);
}

}  // namespace thalweg
