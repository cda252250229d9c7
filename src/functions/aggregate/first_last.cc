// The first and the last value that came.
#include "functions/aggregate/accumulators.h"
#include "functions/aggregate/group_columns.h"

namespace thalweg {
namespace {

class First final : public Aggregator {
 public:
  First(const DataTypePtr& type, bool last, bool ignoreNulls)
      : type_(type), last_(last), ignoreNulls_(ignoreNulls), values_(GroupValues::make(type)) {}
  void resize(int64_t numGroups) override { values_->resize(numGroups); }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    const arrow::Array& values = *arguments[0];
    selection.forEach([&](int64_t row) {
      const uint32_t group = groups[static_cast<size_t>(row)];
      if ((!last_ && values_->isSet(group)) || (ignoreNulls_ && values.IsNull(row))) return;
      values_->set(group, values, row);
    });
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const GroupValues& that = *static_cast<const First&>(other).values_;
    for (size_t i = 0; i < from.size(); ++i) {
      if (that.isSet(from[i]) && (last_ || !values_->isSet(to[i]))) values_->copy(to[i], that, from[i]);
    }
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return values_->column(groups, pool);
  }

  void reset(GroupsOfRows groups) override { values_->reset(groups); }
  std::vector<StructField> bufferFields() const override {
    return {{last_ ? "last" : "first", type_, true}, {"valueSet", booleanType(), true}};
  }
  Bytes bytes() const override { return values_->bytes(); }
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    arrow::BooleanBuilder valueSet(pool);
    for (const uint32_t group : groups) throwIfFailed(valueSet.Append(values_->isSet(group)));
    return {finish(groups, pool), valueOrThrow(valueSet.Finish())};
  }
  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    const auto& valueSet = static_cast<const arrow::BooleanArray&>(*buffers[1]);
    for (size_t i = 0; i < groups.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      if (valueSet.IsValid(row) && valueSet.Value(row)) values_->set(groups[i], *buffers[0], row);
    }
  }

 private:
  DataTypePtr type_;
  bool last_, ignoreNulls_;
  std::unique_ptr<GroupValues> values_;
};

}  // namespace

std::unique_ptr<Aggregator> makeFirst(const DataTypePtr& type, bool last, bool ignoreNulls) {
  return std::make_unique<First>(type, last, ignoreNulls);
}

}  // namespace thalweg
