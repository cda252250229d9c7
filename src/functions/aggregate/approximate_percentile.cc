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
      if (values.IsValid(row))
        change(groups[static_cast<size_t>(row)],
               [&](QuantileSummary& summary) { summary.insert(values.Value(row)); });
    });
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto& that = static_cast<const ApproximatePercentile&>(other);
    for (size_t i = 0; i < from.size(); ++i)
      change(to[i], [&](QuantileSummary& summary) { summary.merge(that.summaries_[from[i]]); });
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
    for (const uint32_t group : groups)
      change(group, [&](QuantileSummary& summary) { summary = QuantileSummary(empty_); });
  }
  Bytes bytes() const override { return {sizeof(QuantileSummary), valueBytes_}; }
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
    for (size_t i = 0; i < groups.size(); ++i) {
      change(groups[i], [&](QuantileSummary& summary) {
        summary = QuantileSummary::decode(column.GetView(static_cast<int64_t>(i)));
      });
    }
  }

 private:
  template <typename F>
  void change(uint32_t group, F&& f) {
    QuantileSummary& summary = summaries_[group];
    valueBytes_ -= summary.valueBytes();
    f(summary);
    valueBytes_ += summary.valueBytes();
  }

  DataTypePtr type_;
  PercentileSpec spec_;
  QuantileSummary empty_;
  std::vector<QuantileSummary> summaries_;
  int64_t valueBytes_ = 0;
};

}  // namespace

std::unique_ptr<Aggregator> makeApproximatePercentile(const DataTypePtr& type, PercentileSpec spec,
                                                      double accuracy) {
  return std::make_unique<ApproximatePercentile>(type, std::move(spec), accuracy);
}

}  // namespace thalweg
