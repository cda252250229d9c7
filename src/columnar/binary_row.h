// Spark's binary row (UnsafeRow): the encoding of keys and values of state, and of anything that must be its
// bytes.
//
// A row is a bitset of nulls in 8-byte words, then 8 bytes a field, then a tail; numbers are little-endian.
// Fixed values lie in their field, zero-padded; a variable one has there (offset in the row << 32 | size) and
// its bytes in the tail, zero-padded to 8. Nested structs are rows of their own. Arrays: number of elements
// (8 bytes), bitset of nulls, elements packed by their width, padded to 8, tail with offsets from the array's
// start. Maps: size of the key array (8 bytes), key array, value array. Decimals of more than 18 digits and
// calendar intervals keep 16 bytes in a row's tail even when null (not in arrays).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "types/data_type.h"

namespace thalweg {

// The types of a schema's fields: what encoders and decoders of its rows take.
std::vector<DataTypePtr> fieldTypes(const Schema& schema);

// Encoded rows, one after the other in one arena. Used by one thread.
class BinaryRows {
 public:
  size_t size() const { return offsets_.size() - 1; }
  std::string_view operator[](size_t row) const {
    return std::string_view(bytes_).substr(offsets_[row], offsets_[row + 1] - offsets_[row]);
  }
  const std::string& bytes() const { return bytes_; }
  // Appends a copy of an encoded row. Its bytes may be changed until the next row comes.
  char* append(std::string_view row) {
    bytes_.append(row);
    offsets_.push_back(bytes_.size());
    return bytes_.data() + bytes_.size() - row.size();
  }
  // Keeps the arena's memory for the next rows.
  void clear() {
    bytes_.clear();
    offsets_.resize(1);
  }

 private:
  friend class BinaryRowEncoder;
  std::string bytes_;
  std::vector<size_t> offsets_ = {0};  // of rows in the arena, one more than rows
};

// Arrow columns → binary rows. Immutable; safe on any thread.
class BinaryRowEncoder {
 public:
  // Keys: −0.0 becomes 0.0 and every NaN the same one, as Spark normalizes what it groups or joins by. Values
  // are kept.
  enum class Floats { Keep, Normalize };

  // Throws Error UNSUPPORTED_FEATURE for types without an encoding here (variants).
  explicit BinaryRowEncoder(std::vector<DataTypePtr> types, Floats floats = Floats::Keep);

  // Appends rows [begin, end) of the columns to `out`; columns[i] has the type of column i. No allocation a
  // row.
  void encode(const std::vector<std::shared_ptr<arrow::Array>>& columns, int64_t begin, int64_t end,
              BinaryRows* out) const;

 private:
  std::vector<DataTypePtr> types_;
  Floats floats_;
};

// Binary rows → Arrow columns. Rows are foreign bytes: offsets, sizes and counts are checked, and the work
// that a row can ask for is bounded by its size. Used by one thread.
class BinaryRowDecoder {
 public:
  // What the rows are decides the condition of the Error that a malformed one throws:
  // STATE_STORE_KEY_ROW_FORMAT_VALIDATION_FAILURE or STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE.
  enum class Role { Key, Value };

  // Throws Error UNSUPPORTED_FEATURE as the encoder does.
  BinaryRowDecoder(std::vector<DataTypePtr> types, Role role, arrow::MemoryPool* pool);
  ~BinaryRowDecoder();

  // Appends rows. Bytes need not be aligned. After an Error the decoder is of no more use.
  void append(std::span<const std::string_view> rows);
  // The rows appended since the last call, a column a type.
  std::vector<std::shared_ptr<arrow::Array>> finish();

 private:
  std::vector<DataTypePtr> types_;
  std::vector<int> depths_;  // of nesting, a type
  Role role_;
  std::vector<std::unique_ptr<arrow::ArrayBuilder>> builders_;
};

}  // namespace thalweg
