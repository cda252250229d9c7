// Covariance, correlation and linear regression of pairs of doubles, by Spark's formulas for adding a pair
// and for merging two parts. Pairs with a null are left out.
#include <cmath>
#include <optional>

#include "common/error.h"
#include "functions/aggregate/accumulators.h"
#include "functions/aggregate/group_columns.h"

namespace thalweg {
namespace {

struct CoMoments {
  double n = 0, xAvg = 0, yAvg = 0;
  double ck = 0;            // sum of products of distances from the averages
  double xMk = 0, yMk = 0;  // sums of their squares
  double m2 = 0;            // of x, as a variance sums it: rounded otherwise than xMk

  void add(double x, double y) {
    n += 1;
    const double dx = x - xAvg, dy = y - yAvg;
    const double dxN = dx / n;
    xAvg += dxN;
    yAvg += dy / n;
    ck += dx * (y - yAvg);
    xMk += dx * (x - xAvg);
    yMk += dy * (y - yAvg);
    m2 += dx * (dx - dxN);
  }

  void add(const CoMoments& right) {
    const double n1 = n, n2 = right.n;
    n = n1 + n2;
    const double dx = right.xAvg - xAvg, dy = right.yAvg - yAvg;
    const double dxN = n == 0 ? 0 : dx / n, dyN = n == 0 ? 0 : dy / n;
    xAvg += dxN * n2;
    yAvg += dyN * n2;
    ck = ck + right.ck + dx * dyN * n1 * n2;
    xMk = xMk + right.xMk + dx * dxN * n1 * n2;
    yMk = yMk + right.yMk + dy * dyN * n1 * n2;
    m2 += right.m2 + dx * dxN * n1 * n2;
  }
};

using Member = double CoMoments::*;
struct Buffer {
  const char* name;
  Member member;
};

std::vector<Buffer> buffersOf(PairResult result) {
  std::vector<Buffer> buffers = {
      {"n", &CoMoments::n}, {"xAvg", &CoMoments::xAvg}, {"yAvg", &CoMoments::yAvg}, {"ck", &CoMoments::ck}};
  if (result == PairResult::Correlation || result == PairResult::Determination) {
    buffers.push_back({"xMk", &CoMoments::xMk});
    buffers.push_back({"yMk", &CoMoments::yMk});
  }
  if (result == PairResult::Slope || result == PairResult::Intercept) {
    buffers.push_back({"n", &CoMoments::n});
    buffers.push_back({"avg", &CoMoments::xAvg});
    buffers.push_back({"m2", &CoMoments::m2});
  }
  return buffers;
}

std::optional<double> correlation(const CoMoments& m, bool ansi) {
  if (m.n <= 1) return std::nullopt;
  const double divisor = std::sqrt(m.xMk * m.yMk);
  if (divisor != 0) return m.ck / divisor;
  if (!ansi) return std::nullopt;
  throw Error("DIVIDE_BY_ZERO", "corr of values that are all equal divides by zero.",
              {{"config", "\"spark.sql.ansi.enabled\""}});
}

std::optional<double> resultOf(PairResult result, const CoMoments& m, bool ansi) {
  if (m.n == 0) return std::nullopt;
  switch (result) {
    case PairResult::CovarianceOfAll:
      return m.ck / m.n;
    case PairResult::CovarianceOfSample:
      return m.n > 1 ? std::optional(m.ck / (m.n - 1)) : std::nullopt;
    case PairResult::Products:
      return m.ck;
    case PairResult::Correlation:
      return correlation(m, ansi);
    case PairResult::Determination: {
      if (m.yMk == 0) return std::nullopt;
      if (m.xMk == 0) return 1.0;
      const double correlation = m.ck / std::sqrt(m.xMk * m.yMk);
      return correlation * correlation;
    }
    case PairResult::Slope:
      return m.m2 == 0 ? std::nullopt : std::optional(m.ck / m.m2);
    case PairResult::Intercept:
      return m.m2 == 0 ? std::nullopt : std::optional(m.yAvg - m.ck / m.m2 * m.xAvg);
  }
  return std::nullopt;
}

class PairMoments final : public Aggregator {
 public:
  PairMoments(PairResult result, bool ansi) : result_(result), ansi_(ansi), buffers_(buffersOf(result)) {}
  void resize(int64_t numGroups) override { groups_.resize(static_cast<size_t>(numGroups)); }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    const auto& xs = static_cast<const arrow::DoubleArray&>(*arguments[0]);
    const auto& ys = static_cast<const arrow::DoubleArray&>(*arguments[1]);
    selection.forEach([&](int64_t row) {
      if (xs.IsNull(row) || ys.IsNull(row)) return;
      groups_[groups[static_cast<size_t>(row)]].add(xs.Value(row), ys.Value(row));
    });
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto& that = static_cast<const PairMoments&>(other);
    for (size_t i = 0; i < from.size(); ++i) groups_[to[i]].add(that.groups_[from[i]]);
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    arrow::DoubleBuilder builder(pool);
    for (const uint32_t group : groups)
      throwIfFailed(builder.AppendOrNull(resultOf(result_, groups_[group], ansi_)));
    return valueOrThrow(builder.Finish());
  }

  void reset(GroupsOfRows groups) override { clear(groups, &groups_); }
  std::vector<StructField> bufferFields() const override {
    std::vector<StructField> fields;
    for (const Buffer& buffer : buffers_) fields.push_back({buffer.name, doubleType(), false});
    return fields;
  }
  Bytes bytes() const override { return {sizeof(CoMoments), 0}; }
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    Arrays columns;
    for (const Buffer& buffer : buffers_) {
      arrow::DoubleBuilder column(pool);
      for (const uint32_t group : groups) throwIfFailed(column.Append(groups_[group].*buffer.member));
      columns.push_back(valueOrThrow(column.Finish()));
    }
    return columns;
  }
  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    for (size_t b = 0; b < buffers_.size(); ++b) {
      const auto& column = static_cast<const arrow::DoubleArray&>(*buffers[b]);
      for (size_t i = 0; i < groups.size(); ++i)
        groups_[groups[i]].*buffers_[b].member = column.Value(static_cast<int64_t>(i));
    }
  }

 private:
  PairResult result_;
  bool ansi_;
  std::vector<Buffer> buffers_;
  std::vector<CoMoments> groups_;
};

}  // namespace

std::unique_ptr<Aggregator> makePairMoments(PairResult result, bool ansi) {
  return std::make_unique<PairMoments>(result, ansi);
}

}  // namespace thalweg
