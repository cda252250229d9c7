#include "formats/parquet/column_bounds.h"

#include <parquet/schema.h>
#include <parquet/statistics.h>

#include "common/error.h"

namespace thalweg {
namespace {

constexpr size_t kLongestBound = 4096;

template <typename Value>
std::string plain(Value value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

// The low `bytes` bytes, highest first.
std::string bigEndian(__int128 value, int bytes) {
  std::string text(static_cast<size_t>(bytes), '\0');
  for (int i = bytes - 1; i >= 0; --i, value >>= 8)
    text[static_cast<size_t>(i)] = static_cast<char>(value & 0xFF);
  return text;
}

struct PlainBound {
  const parquet::ColumnDescriptor& column;
  bool isMax;

  std::string operator()(std::monostate) const { throw internalError("no bound to encode"); }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(double value) const {
    // The sign of a zero bound says nothing of the other zero's absence.
    if (value == 0) value = isMax ? 0.0 : -0.0;
    return column.physical_type() == parquet::Type::FLOAT ? plain(static_cast<float>(value)) : plain(value);
  }
  std::string operator()(int64_t value) const { return whole(value); }
  std::string operator()(__int128 value) const { return whole(value); }

  std::string whole(__int128 value) const {
    switch (column.physical_type()) {
      case parquet::Type::BOOLEAN:
        return plain(static_cast<uint8_t>(value != 0));
      case parquet::Type::INT32:
        return plain(static_cast<int32_t>(value));
      case parquet::Type::INT64:
        return plain(static_cast<int64_t>(value));
      default:
        return bigEndian(value, column.type_length());
    }
  }
};

}  // namespace

void widen(ParquetBounds& bounds, const ParquetBounds& more) {
  bounds.hasNan |= more.hasNan;
  if (std::holds_alternative<std::monostate>(more.min)) return;
  const bool none = std::holds_alternative<std::monostate>(bounds.min);
  if (none || more.min < bounds.min) bounds.min = more.min;
  if (none || bounds.max < more.max) bounds.max = more.max;
}

parquet::EncodedStatistics footerStatistics(const ParquetBounds& bounds, int64_t nullCount,
                                            const parquet::ColumnDescriptor& column) {
  parquet::EncodedStatistics statistics;
  statistics.set_is_signed(column.sort_order() == parquet::SortOrder::SIGNED);
  statistics.set_null_count(nullCount);
  if (std::holds_alternative<std::monostate>(bounds.min)) return statistics;
  statistics.set_min(std::visit(PlainBound{column, false}, bounds.min));
  statistics.set_max(std::visit(PlainBound{column, true}, bounds.max));
  statistics.ApplyStatSizeLimits(kLongestBound);
  return statistics;
}

}  // namespace thalweg
