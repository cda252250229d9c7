#include "functions/aggregate/group_columns.h"

namespace thalweg {
namespace {

template <typename Type>
class StoredGroupValues final : public GroupValues {
 public:
  explicit StoredGroupValues(DataTypePtr type) : GroupValues(std::move(type)) {}
  void resize(int64_t numGroups) override {
    GroupValues::resize(numGroups);
    values_.resize(static_cast<size_t>(numGroups));
  }

 protected:
  void store(uint32_t group, const arrow::Array& values, int64_t row) override {
    values_[group] = GroupValue<Type>::read(values, row);
  }
  void storeFrom(uint32_t group, const GroupValues& other, uint32_t from) override {
    values_[group] = static_cast<const StoredGroupValues&>(other).values_[from];
  }
  void append(uint32_t group, arrow::ArrayBuilder* builder) const override {
    appendStored<Type>(values_[group], builder);
  }

 private:
  std::vector<typename GroupValue<Type>::Stored> values_;
};

// Nested values and intervals: a scalar each.
class ScalarGroupValues final : public GroupValues {
 public:
  explicit ScalarGroupValues(DataTypePtr type) : GroupValues(std::move(type)) {}
  void resize(int64_t numGroups) override {
    GroupValues::resize(numGroups);
    values_.resize(static_cast<size_t>(numGroups));
  }

 protected:
  void store(uint32_t group, const arrow::Array& values, int64_t row) override {
    values_[group] = valueOrThrow(values.GetScalar(row));
  }
  void storeFrom(uint32_t group, const GroupValues& other, uint32_t from) override {
    values_[group] = static_cast<const ScalarGroupValues&>(other).values_[from];
  }
  void append(uint32_t group, arrow::ArrayBuilder* builder) const override {
    throwIfFailed(builder->AppendScalar(*values_[group]));
  }

 private:
  std::vector<std::shared_ptr<arrow::Scalar>> values_;
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
