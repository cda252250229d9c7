// min, max, min_by and max_by.
#include <cmath>

#include "columnar/key_encoder.h"
#include "functions/aggregate/accumulators.h"
#include "functions/aggregate/group_columns.h"

namespace thalweg {
namespace {

// Plain values: no allocation a group.
template <typename Type>
class PlainExtreme final : public Aggregator {
 public:
  using Value = GroupValue<Type>;
  using View = typename Value::View;

  PlainExtreme(DataTypePtr type, bool least) : type_(std::move(type)), least_(least) {}
  void resize(int64_t numGroups) override {
    values_.resize(static_cast<size_t>(numGroups));
    isSet_.resize(static_cast<size_t>(numGroups));
  }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    const arrow::Array& values = *arguments[0];
    selection.forEach([&](int64_t row) {
      if (values.IsValid(row)) offer(groups[static_cast<size_t>(row)], Value::read(values, row));
    });
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto& that = static_cast<const PlainExtreme&>(other);
    for (size_t i = 0; i < from.size(); ++i) {
      if (that.isSet_[from[i]]) offer(to[i], View(that.values_[from[i]]));
    }
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    std::unique_ptr<arrow::ArrayBuilder> builder;
    throwIfFailed(arrow::MakeBuilder(pool, toArrowType(*type_), &builder));
    throwIfFailed(builder->Reserve(static_cast<int64_t>(groups.size())));
    for (const uint32_t group : groups) {
      if (isSet_[group])
        appendStored<Type>(values_[group], builder.get());
      else
        throwIfFailed(builder->AppendNull());
    }
    return valueOrThrow(builder->Finish());
  }

  void reset(GroupsOfRows groups) override {
    clear(groups, &isSet_);
    values_.release(groups);
  }
  Bytes bytes() const override { return {sizeof(typename Value::Stored) + 1, values_.textBytes()}; }
  std::vector<StructField> bufferFields() const override { return {{least_ ? "min" : "max", type_, true}}; }
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return {finish(groups, pool)};
  }
  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    update(groups, buffers, Selection::all(static_cast<int64_t>(groups.size())));
  }

 private:
  // Spark's order: NaN is the greatest number, the signs of zero are equal; strings by their bytes.
  static bool isLess(const View& a, const View& b) {
    if constexpr (std::is_floating_point_v<View>)
      return a < b || (!std::isnan(a) && std::isnan(b));
    else
      return a < b;
  }
  void offer(uint32_t group, const View& value) {
    if (isSet_[group]) {
      const View held(values_[group]);
      if (!(least_ ? isLess(value, held) : isLess(held, value))) return;
    }
    values_.set(group, value);
    isSet_[group] = 1;
  }

  DataTypePtr type_;
  bool least_;
  GroupColumn<typename Value::Stored> values_;
  std::vector<uint8_t> isSet_;
};

// The orderings that won so far, encoded so that their bytes compare as they do.
class OrderingKeys {
 public:
  OrderingKeys(const DataTypePtr& type, bool least) : encoder_({{type}}), least_(least) {}
  void resize(int64_t numGroups) {
    keys_.resize(static_cast<size_t>(numGroups));
    isSet_.resize(static_cast<size_t>(numGroups));
  }
  bool isSet(uint32_t group) const { return isSet_[group]; }
  // True where the row's value beats the group's, or equals it and `ties` says that this is enough; it is
  // then taken.
  bool offer(uint32_t group, const Arrays& column, int64_t row, bool ties) {
    key_.clear();
    encoder_.append(column, row, &key_);
    return offerKey(group, key_, ties);
  }
  bool offerFrom(uint32_t group, const OrderingKeys& other, uint32_t from, bool ties) {
    return offerKey(group, other.keys_[from], ties);
  }
  void reset(GroupsOfRows groups) {
    keys_.release(groups);
    clear(groups, &isSet_);
  }
  Aggregator::Bytes bytes() const { return {sizeof(std::string) + 1, keys_.textBytes()}; }

 private:
  bool offerKey(uint32_t group, const std::string& key, bool ties) {
    if (isSet_[group]) {
      const int order = key.compare(keys_[group]);
      if (order == 0 ? !ties : (order < 0) != least_) return false;
    }
    keys_.set(group, key);
    isSet_[group] = 1;
    return true;
  }
  KeyEncoder encoder_;
  bool least_;
  GroupColumn<std::string> keys_;
  std::vector<uint8_t> isSet_;
  std::string key_;
};

// Of types that only their encoding can compare.
class Extreme final : public Aggregator {
 public:
  Extreme(const DataTypePtr& type, bool least)
      : type_(type), least_(least), keys_(type, least), values_(GroupValues::make(type)) {}
  void resize(int64_t numGroups) override {
    keys_.resize(numGroups);
    values_->resize(numGroups);
  }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    selection.forEach([&](int64_t row) {
      const uint32_t group = groups[static_cast<size_t>(row)];
      if (arguments[0]->IsValid(row) && keys_.offer(group, arguments, row, false))
        values_->set(group, *arguments[0], row);
    });
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto& that = static_cast<const Extreme&>(other);
    for (size_t i = 0; i < from.size(); ++i) {
      if (that.keys_.isSet(from[i]) && keys_.offerFrom(to[i], that.keys_, from[i], false))
        values_->copy(to[i], *that.values_, from[i]);
    }
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return values_->column(groups, pool);
  }

  void reset(GroupsOfRows groups) override {
    keys_.reset(groups);
    values_->reset(groups);
  }
  Bytes bytes() const override { return sumOf(keys_.bytes(), values_->bytes()); }
  std::vector<StructField> bufferFields() const override { return {{least_ ? "min" : "max", type_, true}}; }
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return {finish(groups, pool)};
  }
  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    update(groups, buffers, Selection::all(static_cast<int64_t>(groups.size())));
  }

 private:
  DataTypePtr type_;
  bool least_;
  OrderingKeys keys_;
  std::unique_ptr<GroupValues> values_;
};

// Keeps, for each group, the value whose ordering won so far; of equal orderings the last one, as Spark does.
class ExtremeBy final : public Aggregator {
 public:
  ExtremeBy(const DataTypePtr& type, const DataTypePtr& ordering, bool least)
      : type_(type),
        orderingType_(ordering),
        keys_(ordering, least),
        values_(GroupValues::make(type)),
        orderings_(GroupValues::make(ordering)) {}
  void resize(int64_t numGroups) override {
    keys_.resize(numGroups);
    values_->resize(numGroups);
    orderings_->resize(numGroups);
  }

  void update(GroupsOfRows groups, const Arrays& arguments, const Selection& selection) override {
    const Arrays ordering = {arguments[1]};
    selection.forEach([&](int64_t row) {
      if (ordering[0]->IsNull(row)) return;
      const uint32_t group = groups[static_cast<size_t>(row)];
      if (!keys_.offer(group, ordering, row, true)) return;
      values_->set(group, *arguments[0], row);
      orderings_->set(group, *ordering[0], row);
    });
  }

  void merge(GroupsOfRows from, GroupsOfRows to, const Aggregator& other) override {
    const auto& that = static_cast<const ExtremeBy&>(other);
    for (size_t i = 0; i < from.size(); ++i) {
      if (!that.keys_.isSet(from[i]) || !keys_.offerFrom(to[i], that.keys_, from[i], true)) continue;
      values_->copy(to[i], *that.values_, from[i]);
      orderings_->copy(to[i], *that.orderings_, from[i]);
    }
  }

  std::shared_ptr<arrow::Array> finish(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return values_->column(groups, pool);
  }

  void reset(GroupsOfRows groups) override {
    keys_.reset(groups);
    values_->reset(groups);
    orderings_->reset(groups);
  }
  Bytes bytes() const override { return sumOf(sumOf(keys_.bytes(), values_->bytes()), orderings_->bytes()); }
  std::vector<StructField> bufferFields() const override {
    return {{"valueWithExtremumOrdering", type_, true}, {"extremumOrdering", orderingType_, true}};
  }
  Arrays saveBuffers(GroupsOfRows groups, arrow::MemoryPool* pool) const override {
    return {finish(groups, pool), orderings_->column(groups, pool)};
  }
  void loadBuffers(GroupsOfRows groups, const Arrays& buffers) override {
    update(groups, buffers, Selection::all(static_cast<int64_t>(groups.size())));
  }

 private:
  DataTypePtr type_, orderingType_;
  OrderingKeys keys_;
  std::unique_ptr<GroupValues> values_, orderings_;
};

}  // namespace

std::unique_ptr<Aggregator> makeExtreme(const DataTypePtr& type, bool least) {
  return withStoredType(type->id(),
                        [&]<typename Type>(std::type_identity<Type>) -> std::unique_ptr<Aggregator> {
                          if constexpr (std::is_void_v<Type>)
                            return std::make_unique<Extreme>(type, least);
                          else
                            return std::make_unique<PlainExtreme<Type>>(type, least);
                        });
}

std::unique_ptr<Aggregator> makeExtremeBy(const DataTypePtr& type, const DataTypePtr& ordering, bool least) {
  return std::make_unique<ExtremeBy>(type, ordering, least);
}

}  // namespace thalweg
