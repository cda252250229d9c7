// Aggregates that fold values with one operation: bitwise and, or, xor, and products.
#include "functions/aggregate/accumulators.h"
#include "functions/aggregate/group_columns.h"

namespace thalweg {
namespace {

template <typename Type>
class Fold final : public Aggregator {
 public:
  using Value = typename Type::c_type;
  Fold(DataTypePtr type, FoldOperation operation) : type_(std::move(type)), operation_(operation) {}
  void resize(int64_t numGroups) override {
    values_.resize(static_cast<size_t>(numGroups));
    isSet_.resize(static_cast<size_t>(numGroups));
  }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    const arrow::Array& values = *arguments[0];
    selection.forEach([&](int64_t row) {
      if (values.IsValid(row)) fold(groups[static_cast<size_t>(row)], GroupValue<Type>::read(values, row));
    });
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto& that = static_cast<const Fold&>(other);
    for (size_t i = 0; i < from.size(); ++i) {
      if (that.isSet_[from[i]]) fold(to[i], that.values_[from[i]]);
    }
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    typename arrow::TypeTraits<Type>::BuilderType builder(pool);
    for (const uint32_t group : groups)
      throwIfFailed(isSet_[group] ? builder.Append(values_[group]) : builder.AppendNull());
    return valueOrThrow(builder.Finish());
  }

  void reset(GroupsOfRows groups) override { clear(groups, &isSet_); }
  std::vector<StructField> bufferFields() const override { return {{name(), type_, true}}; }
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return {finish(groups, pool)};
  }
  Bytes bytes() const override { return {sizeof(Value) + 1, 0}; }
  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    update(groups, buffers, Selection::all(static_cast<int64_t>(groups.size())));
  }

 private:
  const char* name() const {
    switch (operation_) {
      case FoldOperation::And:
        return "bit_and";
      case FoldOperation::Or:
        return "bit_or";
      case FoldOperation::Xor:
        return "bit_xor";
      case FoldOperation::Multiply:
        return "product";
    }
    return "";
  }
  void fold(uint32_t group, Value value) {
    Value& held = values_[group];
    if (!isSet_[group]) {
      held = value;
      isSet_[group] = 1;
      return;
    }
    if constexpr (std::is_integral_v<Value>) {
      held = static_cast<Value>(operation_ == FoldOperation::And  ? held & value
                                : operation_ == FoldOperation::Or ? held | value
                                                                  : held ^ value);
    } else {
      held *= value;
    }
  }

  DataTypePtr type_;
  FoldOperation operation_;
  std::vector<Value> values_;
  std::vector<uint8_t> isSet_;
};

}  // namespace

std::unique_ptr<Aggregator> makeFold(const DataTypePtr& type, FoldOperation operation) {
  switch (type->id()) {
    case TypeId::Byte:
      return std::make_unique<Fold<arrow::Int8Type>>(type, operation);
    case TypeId::Short:
      return std::make_unique<Fold<arrow::Int16Type>>(type, operation);
    case TypeId::Int:
      return std::make_unique<Fold<arrow::Int32Type>>(type, operation);
    case TypeId::Long:
      return std::make_unique<Fold<arrow::Int64Type>>(type, operation);
    default:
      return std::make_unique<Fold<arrow::DoubleType>>(type, operation);
  }
}

}  // namespace thalweg
