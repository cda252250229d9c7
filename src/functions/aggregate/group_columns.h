// What accumulators share: columns indexed by group.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <arrow/api.h>
#include <arrow/util/decimal.h>

#include "expr/aggregate.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {

using Arrays = std::vector<std::shared_ptr<arrow::Array>>;
using GroupsOfRows = std::span<const uint32_t>;

// Sets the values of groups to their type's default.
template <typename T>
void clear(GroupsOfRows groups, std::vector<T>* values) {
  for (const uint32_t group : groups) (*values)[group] = T();
}

inline Aggregator::Bytes sumOf(Aggregator::Bytes left, Aggregator::Bytes right) {
  return {left.each + right.each, left.values + right.values};
}

// A value a group. Of texts, it knows what they take beside their strings.
template <typename T>
class GroupColumn {
 public:
  void resize(size_t numGroups) { values_.resize(numGroups); }
  const T& operator[](size_t group) const { return values_[group]; }
  template <typename Value>
  void set(size_t group, const Value& value) {
    if constexpr (kIsText) textBytes_ -= heapBytes(values_[group]);
    values_[group] = value;
    if constexpr (kIsText) textBytes_ += heapBytes(values_[group]);
  }
  // Gives back what the groups' texts take; other values stay.
  void release(GroupsOfRows groups) {
    if constexpr (kIsText) {
      for (const uint32_t group : groups) {
        textBytes_ -= heapBytes(values_[group]);
        T().swap(values_[group]);
      }
    }
  }
  int64_t textBytes() const { return textBytes_; }

 private:
  static constexpr bool kIsText = std::is_same_v<T, std::string>;
  // Short texts lie within their strings.
  static int64_t heapBytes(const T& text) {
    static const size_t kWithin = std::string().capacity();
    return text.capacity() > kWithin ? static_cast<int64_t>(text.capacity()) + 1 : 0;
  }

  std::vector<T> values_;
  int64_t textBytes_ = 0;
};

// The numbers of groups as a column without nulls.
std::shared_ptr<arrow::Array> longColumn(const std::vector<int64_t>& values, GroupsOfRows groups,
                                         arrow::MemoryPool* pool);
std::shared_ptr<arrow::Array> doubleColumn(const std::vector<double>& values, GroupsOfRows groups,
                                           arrow::MemoryPool* pool);
// Reads them back; nulls are 0.
void loadLongColumn(GroupsOfRows groups, const arrow::Array& saved, std::vector<int64_t>* values);
void loadDoubleColumn(GroupsOfRows groups, const arrow::Array& saved, std::vector<double>* values);

// How a value of an Arrow type is read from its array (View) and kept for a group (Stored).
template <typename Type>
struct GroupValue {
  using Stored = typename Type::c_type;
  using View = Stored;
  static View read(const arrow::Array& array, int64_t row) {
    return static_cast<const typename arrow::TypeTraits<Type>::ArrayType&>(array).Value(row);
  }
};
template <>
struct GroupValue<arrow::BooleanType> {
  using Stored = uint8_t;
  using View = bool;
  static View read(const arrow::Array& array, int64_t row) {
    return static_cast<const arrow::BooleanArray&>(array).Value(row);
  }
};
template <>
struct GroupValue<arrow::Decimal128Type> {
  using Stored = arrow::Decimal128;
  using View = arrow::Decimal128;
  static View read(const arrow::Array& array, int64_t row) {
    return arrow::Decimal128(static_cast<const arrow::Decimal128Array&>(array).GetValue(row));
  }
};
// Strings too: their arrays are read alike.
template <>
struct GroupValue<arrow::BinaryType> {
  using Stored = std::string;
  using View = std::string_view;
  static View read(const arrow::Array& array, int64_t row) {
    return static_cast<const arrow::BinaryArray&>(array).GetView(row);
  }
};

// Calls f(std::type_identity<T>()) with the Arrow type whose GroupValue keeps values of a type without an
// allocation for each (but for long strings), or with void where there is none.
template <typename F>
auto withStoredType(TypeId id, F&& f) {
  switch (id) {
    case TypeId::Boolean:
      return f(std::type_identity<arrow::BooleanType>());
    case TypeId::Byte:
      return f(std::type_identity<arrow::Int8Type>());
    case TypeId::Short:
      return f(std::type_identity<arrow::Int16Type>());
    case TypeId::Int:
      return f(std::type_identity<arrow::Int32Type>());
    case TypeId::Long:
      return f(std::type_identity<arrow::Int64Type>());
    case TypeId::Float:
      return f(std::type_identity<arrow::FloatType>());
    case TypeId::Double:
      return f(std::type_identity<arrow::DoubleType>());
    case TypeId::Decimal:
      return f(std::type_identity<arrow::Decimal128Type>());
    case TypeId::String:
    case TypeId::Binary:
      return f(std::type_identity<arrow::BinaryType>());
    case TypeId::Date:
      return f(std::type_identity<arrow::Date32Type>());
    case TypeId::Timestamp:
    case TypeId::TimestampNtz:
      return f(std::type_identity<arrow::TimestampType>());
    default:
      return f(std::type_identity<void>());
  }
}

// Appends one value to the builder of `type`'s arrays that arrow::MakeBuilder makes.
template <typename Type>
void appendStored(const typename GroupValue<Type>::Stored& value, arrow::ArrayBuilder* builder) {
  if constexpr (std::is_same_v<Type, arrow::BinaryType>)  // a string's builder is one too
    throwIfFailed(static_cast<arrow::BinaryBuilder*>(builder)->Append(value));
  else
    throwIfFailed(static_cast<typename arrow::TypeTraits<Type>::BuilderType*>(builder)->Append(value));
}

// A value of any type for each group; a value may be null, and a group may have none.
class GroupValues {
 public:
  static std::unique_ptr<GroupValues> make(DataTypePtr type);
  virtual ~GroupValues() = default;

  virtual void resize(int64_t numGroups) { states_.resize(static_cast<size_t>(numGroups)); }
  // True where the group has a value, null or not.
  bool isSet(uint32_t group) const { return states_[group] != State::None; }
  void set(uint32_t group, const arrow::Array& values, int64_t row) {
    states_[group] = values.IsNull(row) ? State::Null : State::Value;
    if (values.IsValid(row)) store(group, values, row);
  }
  // Takes a group's value, or that it has none, from another one of the same type.
  void copy(uint32_t group, const GroupValues& other, uint32_t from) {
    states_[group] = other.states_[from];
    if (states_[group] == State::Value) storeFrom(group, other, from);
  }
  void reset(GroupsOfRows groups) {
    clear(groups, &states_);
    release(groups);
  }
  virtual Aggregator::Bytes bytes() const = 0;
  // The values of groups; null where there is none.
  std::shared_ptr<arrow::Array> column(GroupsOfRows groups, arrow::MemoryPool* pool) const;

 protected:
  enum class State : uint8_t { None, Null, Value };
  explicit GroupValues(DataTypePtr type) : type_(std::move(type)) {}
  virtual void store(uint32_t group, const arrow::Array& values, int64_t row) = 0;
  virtual void storeFrom(uint32_t group, const GroupValues& other, uint32_t from) = 0;
  virtual void append(uint32_t group, arrow::ArrayBuilder* builder) const = 0;
  // Gives back what values take beside their places.
  virtual void release(GroupsOfRows groups) = 0;

 private:
  DataTypePtr type_;
  std::vector<State> states_;
};

}  // namespace thalweg
