#include "columnar/row_hash.h"

#include <bit>
#include <cstring>
#include <string>
#include <string_view>

#include <arrow/api.h>

#include "columnar/decimal_bytes.h"
#include "common/error.h"

namespace thalweg {
namespace {

using View = std::string_view;

// Both hashes take a value's bytes in the same three ways: 32 bits, 64 bits, or a run of bytes.
struct Murmur3 {
  using Hash = uint32_t;
  static uint32_t mixKey(uint32_t key) { return std::rotl(key * 0xCC9E2D51u, 15) * 0x1B873593u; }
  static uint32_t mixHash(uint32_t hash, uint32_t key) { return std::rotl(hash ^ key, 13) * 5 + 0xE6546B64u; }
  static uint32_t finish(uint32_t hash, uint32_t length) {
    hash ^= length;
    hash = (hash ^ hash >> 16) * 0x85EBCA6Bu;
    hash = (hash ^ hash >> 13) * 0xC2B2AE35u;
    return hash ^ hash >> 16;
  }
  static uint32_t ofInt(int32_t value, uint32_t seed) {
    return finish(mixHash(seed, mixKey(static_cast<uint32_t>(value))), 4);
  }
  static uint32_t ofLong(int64_t value, uint32_t seed) {
    const auto bits = static_cast<uint64_t>(value);
    return finish(mixHash(mixHash(seed, mixKey(static_cast<uint32_t>(bits))),
                          mixKey(static_cast<uint32_t>(bits >> 32))),
                  8);
  }
  // Spark's own form: the bytes behind the last whole word are mixed one by one, as signed numbers.
  static uint32_t ofBytes(View bytes, uint32_t seed) {
    size_t at = 0;
    for (; at + 4 <= bytes.size(); at += 4) {
      uint32_t word;
      std::memcpy(&word, bytes.data() + at, 4);
      seed = mixHash(seed, mixKey(word));
    }
    for (; at < bytes.size(); ++at)
      seed = mixHash(seed, mixKey(static_cast<uint32_t>(static_cast<signed char>(bytes[at]))));
    return finish(seed, static_cast<uint32_t>(bytes.size()));
  }
};

struct XxHash64 {
  using Hash = uint64_t;
  static constexpr uint64_t k1 = 0x9E3779B185EBCA87ULL, k2 = 0xC2B2AE3D27D4EB4FULL,
                            k3 = 0x165667B19E3779F9ULL, k4 = 0x85EBCA77C2B2AE63ULL,
                            k5 = 0x27D4EB2F165667C5ULL;
  static uint64_t finish(uint64_t hash) {
    hash = (hash ^ hash >> 33) * k2;
    hash = (hash ^ hash >> 29) * k3;
    return hash ^ hash >> 32;
  }
  static uint64_t ofInt(int32_t value, uint64_t seed) {
    uint64_t hash = seed + k5 + 4;
    hash ^= static_cast<uint64_t>(static_cast<uint32_t>(value)) * k1;
    return finish(std::rotl(hash, 23) * k2 + k3);
  }
  static uint64_t round(uint64_t value) { return std::rotl(value * k2, 31) * k1; }
  static uint64_t ofLong(int64_t value, uint64_t seed) {
    uint64_t hash = seed + k5 + 8;
    hash ^= round(static_cast<uint64_t>(value));
    return finish(std::rotl(hash, 27) * k1 + k4);
  }
  static uint64_t ofBytes(View bytes, uint64_t seed) {
    size_t at = 0;
    const auto word = [&](size_t i) {
      uint64_t value;
      std::memcpy(&value, bytes.data() + i, 8);
      return value;
    };
    uint64_t hash;
    if (bytes.size() >= 32) {
      uint64_t lanes[4] = {seed + k1 + k2, seed + k2, seed, seed - k1};
      for (; at + 32 <= bytes.size(); at += 32) {
        for (size_t i = 0; i < 4; ++i) lanes[i] = std::rotl(lanes[i] + word(at + 8 * i) * k2, 31) * k1;
      }
      hash =
          std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
      for (const uint64_t lane : lanes) hash = (hash ^ round(lane)) * k1 + k4;
    } else {
      hash = seed + k5;
    }
    hash += bytes.size();
    for (; at + 8 <= bytes.size(); at += 8) hash = std::rotl(hash ^ round(word(at)), 27) * k1 + k4;
    if (at + 4 <= bytes.size()) {
      uint32_t half;
      std::memcpy(&half, bytes.data() + at, 4);
      hash = std::rotl(hash ^ static_cast<uint64_t>(half) * k1, 23) * k2 + k3;
      at += 4;
    }
    for (; at < bytes.size(); ++at)
      hash = std::rotl(hash ^ static_cast<uint64_t>(static_cast<unsigned char>(bytes[at])) * k5, 11) * k1;
    return finish(hash);
  }
};

// The hash of one value, `seed` where it is null: hashes of several values run through them one by one.
template <typename H>
typename H::Hash hashValue(const DataType& type, const arrow::Array& array, int64_t row,
                           typename H::Hash seed) {
  if (array.IsNull(row)) return seed;
  switch (type.id()) {
    case TypeId::Void:
      return seed;
    case TypeId::Boolean:
      return H::ofInt(static_cast<const arrow::BooleanArray&>(array).Value(row), seed);
    case TypeId::Byte:
      return H::ofInt(array.data()->GetValues<int8_t>(1)[row], seed);
    case TypeId::Short:
      return H::ofInt(array.data()->GetValues<int16_t>(1)[row], seed);
    case TypeId::Int:
    case TypeId::Date:
    case TypeId::YearMonthInterval:
      return H::ofInt(array.data()->GetValues<int32_t>(1)[row], seed);
    case TypeId::Long:
    case TypeId::Timestamp:
    case TypeId::TimestampNtz:
    case TypeId::DayTimeInterval:
      return H::ofLong(array.data()->GetValues<int64_t>(1)[row], seed);
    case TypeId::Float: {
      const float value = array.data()->GetValues<float>(1)[row];
      if (value == 0) return H::ofInt(0, seed);
      return H::ofInt(value != value ? 0x7FC00000 : std::bit_cast<int32_t>(value), seed);
    }
    case TypeId::Double: {
      const double value = array.data()->GetValues<double>(1)[row];
      if (value == 0) return H::ofLong(0, seed);
      return H::ofLong(value != value ? 0x7FF8000000000000LL : std::bit_cast<int64_t>(value), seed);
    }
    case TypeId::Decimal: {
      const arrow::Decimal128 value(static_cast<const arrow::Decimal128Array&>(array).GetValue(row));
      if (type.precision() <= 18) return H::ofLong(static_cast<int64_t>(value.low_bits()), seed);
      char bytes[16];
      return H::ofBytes({bytes, shortestBigEndian(value, bytes)}, seed);
    }
    case TypeId::String:
    case TypeId::Binary:
      return H::ofBytes(static_cast<const arrow::BinaryArray&>(array).GetView(row), seed);
    case TypeId::Array: {
      const auto& list = static_cast<const arrow::ListArray&>(array);
      for (int64_t i = list.value_offset(row); i < list.value_offset(row + 1); ++i)
        seed = hashValue<H>(*type.element(), *list.values(), i, seed);
      return seed;
    }
    case TypeId::Struct: {
      const auto& values = static_cast<const arrow::StructArray&>(array);
      for (size_t i = 0; i < type.fields().size(); ++i) {
        seed = hashValue<H>(*type.fields()[i].type, *values.field(static_cast<int>(i)), row, seed);
      }
      return seed;
    }
    default:
      throw unsupported("The hash of a value of type " + type.sqlString());
  }
}

// A column's values without nulls to ask for, by a function of the row.
template <typename Hash, typename HashOf>
void foldRows(const arrow::Array& column, std::span<Hash> hashes, HashOf hashOf) {
  if (column.null_count() == 0) {
    for (size_t row = 0; row < hashes.size(); ++row) hashes[row] = hashOf(row, hashes[row]);
    return;
  }
  for (size_t row = 0; row < hashes.size(); ++row) {
    if (column.IsValid(static_cast<int64_t>(row))) hashes[row] = hashOf(row, hashes[row]);
  }
}

// The common types have loops of their own; the others ask for a value at a time.
template <typename H>
void foldColumn(const DataType& type, const arrow::Array& column, std::span<typename H::Hash> hashes) {
  using Hash = typename H::Hash;
  THALWEG_ASSERT(column.length() == static_cast<int64_t>(hashes.size()));
  switch (type.id()) {
    case TypeId::Int:
    case TypeId::Date: {
      const auto* values = column.data()->GetValues<int32_t>(1);
      return foldRows<Hash>(column, hashes,
                            [values](size_t row, Hash seed) { return H::ofInt(values[row], seed); });
    }
    case TypeId::Long:
    case TypeId::Timestamp:
    case TypeId::TimestampNtz: {
      const auto* values = column.data()->GetValues<int64_t>(1);
      return foldRows<Hash>(column, hashes,
                            [values](size_t row, Hash seed) { return H::ofLong(values[row], seed); });
    }
    case TypeId::String:
    case TypeId::Binary: {
      const auto& values = static_cast<const arrow::BinaryArray&>(column);
      return foldRows<Hash>(column, hashes, [&values](size_t row, Hash seed) {
        return H::ofBytes(values.GetView(static_cast<int64_t>(row)), seed);
      });
    }
    case TypeId::Struct:
      if (column.null_count() == 0) {
        const auto& values = static_cast<const arrow::StructArray&>(column);
        for (size_t i = 0; i < type.fields().size(); ++i)
          foldColumn<H>(*type.fields()[i].type, *values.field(static_cast<int>(i)), hashes);
        return;
      }
      [[fallthrough]];
    default:
      for (size_t row = 0; row < hashes.size(); ++row) {
        hashes[row] = hashValue<H>(type, column, static_cast<int64_t>(row), hashes[row]);
      }
  }
}

}  // namespace

void foldMurmur3(const DataType& type, const arrow::Array& column, std::span<uint32_t> hashes) {
  foldColumn<Murmur3>(type, column, hashes);
}

void foldXxHash64(const DataType& type, const arrow::Array& column, std::span<uint64_t> hashes) {
  foldColumn<XxHash64>(type, column, hashes);
}

void foldMurmur3OfRow(const DataType& type, const arrow::Array& column, int64_t row, std::span<uint32_t> hashes) {
  for (uint32_t& hash : hashes) hash = hashValue<Murmur3>(type, column, row, hash);
}

uint32_t murmur3Of(int64_t value, uint32_t seed) {
  return Murmur3::ofLong(value, seed);
}

int32_t partitionOf(uint32_t hash, int32_t numPartitions) {
  const int32_t remainder = static_cast<int32_t>(hash) % numPartitions;
  return remainder < 0 ? remainder + numPartitions : remainder;
}

std::vector<int32_t> partitionIds(const std::vector<DataTypePtr>& types,
                                  const std::vector<std::shared_ptr<arrow::Array>>& columns, int64_t numRows,
                                  int32_t numPartitions) {
  THALWEG_ASSERT(numPartitions > 0 && types.size() == columns.size());
  std::vector<uint32_t> hashes(static_cast<size_t>(numRows), kRowHashSeed);
  for (size_t i = 0; i < columns.size(); ++i) foldMurmur3(*types[i], *columns[i], hashes);
  std::vector<int32_t> partitions(hashes.size());
  for (size_t row = 0; row < hashes.size(); ++row) partitions[row] = partitionOf(hashes[row], numPartitions);
  return partitions;
}

}  // namespace thalweg
