// Where things lie in a binary row (columnar/binary_row.h): shared by those who write, read and cut them.
#pragma once

#include <cstdint>
#include <cstring>

#include "types/data_type.h"

namespace thalweg::binary_row {

constexpr size_t roundUp8(size_t size) {
  return (size + 7) & ~size_t{7};
}
constexpr size_t bitsetBytes(size_t numFields) {
  return (numFields + 63) / 64 * 8;
}
// Of a row: its bitset and fields, without the tail.
constexpr size_t fixedBytes(size_t numFields) {
  return bitsetBytes(numFields) + 8 * numFields;
}

template <typename T>
T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

template <typename T>
void store(char* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

inline bool isNull(const char* bitset, size_t ordinal) {
  return (static_cast<unsigned char>(bitset[ordinal / 8]) >> (ordinal % 8) & 1) != 0;
}
inline void setNull(char* bitset, size_t ordinal) {
  bitset[ordinal / 8] |= static_cast<char>(1 << (ordinal % 8));
}

constexpr uint64_t offsetAndSize(size_t offset, size_t size) {
  return uint64_t{offset} << 32 | size;
}

// A decimal or calendar interval that keeps 16 bytes in a row's tail whatever its value.
inline bool isReserved16(const DataType& type) {
  return type.id() == TypeId::CalendarInterval || (type.id() == TypeId::Decimal && type.precision() > 18);
}

// Does the value lie in the tail?
inline bool isVariable(const DataType& type) {
  switch (type.id()) {
    case TypeId::String:
    case TypeId::Binary:
    case TypeId::Array:
    case TypeId::Map:
    case TypeId::Struct:
      return true;
    default:
      return isReserved16(type);
  }
}

// Throws Error UNSUPPORTED_FEATURE for a type that has no encoding here, alone or nested: variants.
void requireEncoding(const DataType& type);

// Bytes of an array's element before its tail.
inline size_t elementWidth(const DataType& type) {
  switch (type.id()) {
    case TypeId::Boolean:
    case TypeId::Byte:
      return 1;
    case TypeId::Short:
      return 2;
    case TypeId::Int:
    case TypeId::Float:
    case TypeId::Date:
    case TypeId::YearMonthInterval:
      return 4;
    default:
      return 8;
  }
}

}  // namespace thalweg::binary_row
