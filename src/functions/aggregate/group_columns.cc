#include "functions/aggregate/group_columns.h"

#include <arrow/util/byte_size.h>

namespace thalweg {
namespace {

template <typename Type>
class StoredGroupValues final : public GroupValues {
 public:
  using Stored = typename GroupValue<Type>::Stored;
  explicit StoredGroupValues(DataTypePtr type) : GroupValues(std::move(type)) {}
  void resize(int64_t numGroups) override {
    GroupValues::resize(numGroups);
    values_.resize(static_cast<size_t>(numGroups));
  }
  Aggregator::Bytes bytes() const override { return {sizeof(Stored) + 1, values_.textBytes()}; }

 protected:
  void store(uint32_t group, const arrow::Array& values, int64_t row) override {
    values_.set(group, GroupValue<Type>::read(values, row));
  }
  void storeFrom(uint32_t group, const GroupValues& other, uint32_t from) override {
    values_.set(group, static_cast<const StoredGroupValues&>(other).values_[from]);
  }
  void release(GroupsOfRows groups) override { values_.release(groups); }
  void append(uint32_t group, arrow::ArrayBuilder* builder) const override {
    appendStored<Type>(values_[group], builder);
  }

 private:
  GroupColumn<Stored> values_;
};

// Of a scalar, about: what it takes itself, and the part of its arrays that it needs.
int64_t bytesOf(const arrow::Scalar& scalar) {
  constexpr int64_t kScalarBytes = 64;
  int64_t bytes = kScalarBytes;
  if (const auto* text = dynamic_cast<const arrow::BaseBinaryScalar*>(&scalar)) {
    if (text->value) bytes += text->value->size();
  } else if (const auto* list = dynamic_cast<const arrow::BaseListScalar*>(&scalar)) {
    if (list->value) bytes += arrow::util::ReferencedBufferSize(*list->value).ValueOr(0);
  } else if (const auto* fields = dynamic_cast<const arrow::StructScalar*>(&scalar)) {
    for (const auto& field : fields->value) bytes += bytesOf(*field);
  }
  return bytes;
}

// Nested values and intervals: a scalar each.
class ScalarGroupValues final : public GroupValues {
 public:
  explicit ScalarGroupValues(DataTypePtr type) : GroupValues(std::move(type)) {}
  void resize(int64_t numGroups) override {
    GroupValues::resize(numGroups);
    values_.resize(static_cast<size_t>(numGroups));
  }
  Aggregator::Bytes bytes() const override {
    return {sizeof(std::shared_ptr<arrow::Scalar>) + 1, valueBytes_};
  }

 protected:
  void store(uint32_t group, const arrow::Array& values, int64_t row) override {
    put(group, valueOrThrow(values.GetScalar(row)));
  }
  void storeFrom(uint32_t group, const GroupValues& other, uint32_t from) override {
    put(group, static_cast<const ScalarGroupValues&>(other).values_[from]);
  }
  void release(GroupsOfRows groups) override {
    for (const uint32_t group : groups) put(group, nullptr);
  }
  void append(uint32_t group, arrow::ArrayBuilder* builder) const override {
    throwIfFailed(builder->AppendScalar(*values_[group]));
  }

 private:
  void put(uint32_t group, std::shared_ptr<arrow::Scalar> scalar) {
    if (values_[group]) valueBytes_ -= bytesOf(*values_[group]);
    if (scalar) valueBytes_ += bytesOf(*scalar);
    values_[group] = std::move(scalar);
  }

  std::vector<std::shared_ptr<arrow::Scalar>> values_;
  int64_t valueBytes_ = 0;
};

}  // namespace

std::unique_ptr<GroupValues> GroupValues::make(DataTypePtr type) {
  const TypeId id = type->id();
  return withStoredType(id, [&]<typename Type>(std::type_identity<Type>) -> std::unique_ptr<GroupValues> {
    if constexpr (std::is_void_v<Type>)
      return std::make_unique<ScalarGroupValues>(std::move(type));
    else
      return std::make_unique<StoredGroupValues<Type>>(std::move(type));
  });
}

std::shared_ptr<arrow::Array> GroupValues::column(GroupsOfRows groups, arrow::MemoryPool* pool) const {
  std::unique_ptr<arrow::ArrayBuilder> builder;
  throwIfFailed(arrow::MakeBuilder(pool, toArrowType(*type_), &builder));
  throwIfFailed(builder->Reserve(static_cast<int64_t>(groups.size())));
  for (const uint32_t group : groups) {
    if (states_[group] == State::Value)
      append(group, builder.get());
    else
      throwIfFailed(builder->AppendNull());
  }
  return valueOrThrow(builder->Finish());
}

std::shared_ptr<arrow::Array> longColumn(const std::vector<int64_t>& values, GroupsOfRows groups,
                                         arrow::MemoryPool* pool) {
  arrow::Int64Builder builder(pool);
  throwIfFailed(builder.Reserve(static_cast<int64_t>(groups.size())));
  for (const uint32_t group : groups) builder.UnsafeAppend(values[group]);
  return valueOrThrow(builder.Finish());
}

std::shared_ptr<arrow::Array> doubleColumn(const std::vector<double>& values, GroupsOfRows groups,
                                           arrow::MemoryPool* pool) {
  arrow::DoubleBuilder builder(pool);
  throwIfFailed(builder.Reserve(static_cast<int64_t>(groups.size())));
  for (const uint32_t group : groups) builder.UnsafeAppend(values[group]);
  return valueOrThrow(builder.Finish());
}

namespace {

template <typename Array, typename Value>
void loadColumn(GroupsOfRows groups, const arrow::Array& saved, std::vector<Value>* values) {
  const auto& column = static_cast<const Array&>(saved);
  for (size_t i = 0; i < groups.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    (*values)[groups[i]] = column.IsNull(row) ? Value() : column.Value(row);
  }
}

}  // namespace

void loadLongColumn(GroupsOfRows groups, const arrow::Array& saved, std::vector<int64_t>* values) {
  loadColumn<arrow::Int64Array>(groups, saved, values);
}

void loadDoubleColumn(GroupsOfRows groups, const arrow::Array& saved, std::vector<double>* values) {
  loadColumn<arrow::DoubleArray>(groups, saved, values);
}

}  // namespace thalweg
