// min, max, min_by and max_by.
#include <cmath>

#include "columnar/key_encoder.h"
#include "functions/aggregate/accumulators.h"
#include "functions/aggregate/group_columns.h"

namespace thalweg {
namespace {

// Numbers and times: no allocation a group.
template <typename Type>
class FixedExtreme final : public Aggregator {
 public:
  using Value = typename Type::c_type;
  using Array = typename arrow::TypeTraits<Type>::ArrayType;

  FixedExtreme(DataTypePtr type, bool least) : type_(std::move(type)), least_(least) {}
  void resize(int64_t numGroups) override {
    values_.resize(static_cast<size_t>(numGroups));
    isSet_.resize(static_cast<size_t>(numGroups));
  }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    const auto& values = static_cast<const Array&>(*arguments[0]);
    selection.forEach([&](int64_t row) {
      if (values.IsValid(row)) offer(groups[static_cast<size_t>(row)], values.Value(row));
    });
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto& that = static_cast<const FixedExtreme&>(other);
    for (size_t i = 0; i < from.size(); ++i) {
      if (that.isSet_[from[i]]) offer(to[i], that.values_[from[i]]);
    }
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    using Builder = typename arrow::TypeTraits<Type>::BuilderType;
    Builder builder(toArrowType(*type_), pool);
    throwIfFailed(builder.Reserve(static_cast<int64_t>(groups.size())));
    for (const uint32_t group : groups) {
      if (isSet_[group])
        builder.UnsafeAppend(values_[group]);
      else
        builder.UnsafeAppendNull();
    }
    return valueOrThrow(builder.Finish());
  }

  void reset(GroupsOfRows groups) override { clear(groups, &isSet_); }
  std::vector<StructField> bufferFields() const override { return {{least_ ? "min" : "max", type_, true}}; }
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return {finish(groups, pool)};
  }
  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    update(groups, buffers, Selection::all(static_cast<int64_t>(groups.size())));
  }

 private:
  // Spark's order: NaN is the greatest number, the signs of zero are equal.
  static bool isLess(Value a, Value b) {
    if constexpr (std::is_floating_point_v<Value>)
      return a < b || (!std::isnan(a) && std::isnan(b));
    else
      return a < b;
  }
  void offer(uint32_t group, Value value) {
    if (isSet_[group] && !(least_ ? isLess(value, values_[group]) : isLess(values_[group], value))) return;
    values_[group] = value;
    isSet_[group] = 1;
  }

  DataTypePtr type_;
  bool least_;
  std::vector<Value> values_;
  std::vector<uint8_t> isSet_;
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

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto& that = static_cast<const Extreme&>(other);
    for (size_t i = 0; i < from.size(); ++i) {
      if (!that.values_[from[i]] || !better(that.keys_[from[i]], to[i])) continue;
      keys_[to[i]] = that.keys_[from[i]];
      values_[to[i]] = that.values_[from[i]];
    }
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return scalars(*type_, values_, groups, pool);
  }

  void reset(GroupsOfRows groups) override {
    clear(groups, &keys_);
    clear(groups, &values_);
  }
  std::vector<StructField> bufferFields() const override { return {{least_ ? "min" : "max", type_, true}}; }
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return {finish(groups, pool)};
  }
  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    update(groups, buffers, Selection::all(static_cast<int64_t>(groups.size())));
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

// Keeps, for each group, the value whose ordering won so far; of equal orderings the last one, as Spark does.
class ExtremeBy final : public Aggregator {
 public:
  ExtremeBy(DataTypePtr type, DataTypePtr ordering, bool least)
      : type_(std::move(type)),
        orderingType_(std::move(ordering)),
        least_(least),
        encoder_({{orderingType_}}) {}
  void resize(int64_t numGroups) override {
    keys_.resize(static_cast<size_t>(numGroups));
    values_.resize(static_cast<size_t>(numGroups));
    orderings_.resize(static_cast<size_t>(numGroups));
  }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    const Arrays ordering = {arguments[1]};
    std::string key;
    selection.forEach([&](int64_t row) {
      if (ordering[0]->IsNull(row)) return;
      key.clear();
      encoder_.append(ordering, row, &key);
      const uint32_t group = groups[static_cast<size_t>(row)];
      if (!better(key, group)) return;
      keys_[group] = key;
      values_[group] = valueOrThrow(arguments[0]->GetScalar(row));
      orderings_[group] = valueOrThrow(ordering[0]->GetScalar(row));
    });
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto& that = static_cast<const ExtremeBy&>(other);
    for (size_t i = 0; i < from.size(); ++i) {
      if (!that.orderings_[from[i]] || !better(that.keys_[from[i]], to[i])) continue;
      keys_[to[i]] = that.keys_[from[i]];
      values_[to[i]] = that.values_[from[i]];
      orderings_[to[i]] = that.orderings_[from[i]];
    }
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return scalars(*type_, values_, groups, pool);
  }

  void reset(GroupsOfRows groups) override {
    clear(groups, &keys_);
    clear(groups, &values_);
    clear(groups, &orderings_);
  }
  std::vector<StructField> bufferFields() const override {
    return {{"valueWithExtremumOrdering", type_, true}, {"extremumOrdering", orderingType_, true}};
  }
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return {finish(groups, pool), scalars(*orderingType_, orderings_, groups, pool)};
  }
  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    update(groups, buffers, Selection::all(static_cast<int64_t>(groups.size())));
  }

 private:
  bool better(const std::string& key, uint32_t group) const {
    return !orderings_[group] || (least_ ? key <= keys_[group] : key >= keys_[group]);
  }
  DataTypePtr type_, orderingType_;
  bool least_;
  KeyEncoder encoder_;
  std::vector<std::string> keys_;  // encoded orderings
  std::vector<std::shared_ptr<arrow::Scalar>> values_, orderings_;
};

}  // namespace

std::unique_ptr<Aggregator> makeExtreme(const DataTypePtr& type, bool least) {
  switch (type->id()) {
    case TypeId::Byte:
      return std::make_unique<FixedExtreme<arrow::Int8Type>>(type, least);
    case TypeId::Short:
      return std::make_unique<FixedExtreme<arrow::Int16Type>>(type, least);
    case TypeId::Int:
      return std::make_unique<FixedExtreme<arrow::Int32Type>>(type, least);
    case TypeId::Long:
      return std::make_unique<FixedExtreme<arrow::Int64Type>>(type, least);
    case TypeId::Float:
      return std::make_unique<FixedExtreme<arrow::FloatType>>(type, least);
    case TypeId::Double:
      return std::make_unique<FixedExtreme<arrow::DoubleType>>(type, least);
    case TypeId::Date:
      return std::make_unique<FixedExtreme<arrow::Date32Type>>(type, least);
    case TypeId::Timestamp:
    case TypeId::TimestampNtz:
      return std::make_unique<FixedExtreme<arrow::TimestampType>>(type, least);
    default:
      return std::make_unique<Extreme>(type, least);
  }
}

std::unique_ptr<Aggregator> makeExtremeBy(const DataTypePtr& type, const DataTypePtr& ordering, bool least) {
  return std::make_unique<ExtremeBy>(type, ordering, least);
}

}  // namespace thalweg
