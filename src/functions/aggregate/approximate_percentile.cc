// percentile_approx: a summary of its values a group.
#include "functions/aggregate/accumulators.h"
#include "functions/aggregate/percentile_values.h"
#include "functions/aggregate/quantile_summary.h"

namespace thalweg {
namespace {

class ApproximatePercentile final : public Aggregator {
 public:
  ApproximatePercentile(DataTypePtr type, PercentileSpec spec, double accuracy)
      : type_(std::move(type)), spec_(std::move(spec)), empty_(1.0 / accuracy) {}
  void resize(int64_t numGroups) override { summaries_.resize(static_cast<size_t>(numGroups), empty_); }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    const auto doubles = toDoubles(arguments[0], *type_);
    const auto& values = static_cast<const arrow::DoubleArray&>(*doubles);
    selection.forEach([&](int64_t row) {
      if (values.IsValid(row)) summaries_[groups[static_cast<size_t>(row)]].insert(values.Value(row));
    });
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto& that = static_cast<const ApproximatePercentile&>(other);
    for (size_t i = 0; i < from.size(); ++i) summaries_[to[i]].merge(that.summaries_[from[i]]);
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    PercentileResults results(spec_.isArray, pool);
    for (const uint32_t group : groups) {
      QuantileSummary summary = summaries_[group];
      if (summary.count() > 0)
        results.add(summary.query(spec_.percentages));
      else
        results.addNull();
    }
    return results.finish(type_);
  }

  void reset(GroupsOfRows groups) override {
    for (const uint32_t group : groups) summaries_[group] = empty_;
  }
  std::vector<StructField> bufferFields() const override { return {{"buf", binaryType(), true}}; }
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    arrow::BinaryBuilder builder(pool);
    for (const uint32_t group : groups) {
      QuantileSummary summary = summaries_[group];
      throwIfFailed(builder.Append(summary.encode()));
    }
    return {valueOrThrow(builder.Finish())};
  }
  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    const auto& column = static_cast<const arrow::BinaryArray&>(*buffers[0]);
    for (size_t i = 0; i < groups.size(); ++i)
      summaries_[groups[i]] = QuantileSummary::decode(column.GetView(static_cast<int64_t>(i)));
  }

 private:
  DataTypePtr type_;
  PercentileSpec spec_;
  QuantileSummary empty_;
  std::vector<QuantileSummary> summaries_;
};

}  // namespace

std::unique_ptr<Aggregator> makeApproximatePercentile(const DataTypePtr& type, PercentileSpec spec,
                                                      double accuracy) {
  return std::make_unique<ApproximatePercentile>(type, std::move(spec), accuracy);
}

}  // namespace thalweg
