// Growing columns that parsers append to: Arrow's layout without a status an append, and with the means to
// take back rows.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include <arrow/memory_pool.h>
#include <arrow/type_fwd.h>
#include <arrow/util/decimal.h>

#include "formats/json/json_schema.h"

namespace thalweg {

// Memory of an Arrow pool that grows. Throws Error OUT_OF_MEMORY.
class GrowingBuffer {
 public:
  explicit GrowingBuffer(arrow::MemoryPool* pool);
  GrowingBuffer(GrowingBuffer&&) noexcept;
  ~GrowingBuffer();

  uint8_t* data() { return data_; }
  size_t size() const { return size_; }
  void setSize(size_t size) { size_ = size; }

  // Room for `bytes` more behind size().
  uint8_t* reserve(size_t bytes) {
    if (size_ + bytes > capacity_) grow(bytes);
    return data_ + size_;
  }
  template <typename T>
  void append(T value) {
    std::memcpy(reserve(sizeof(T)), &value, sizeof(T));
    size_ += sizeof(T);
  }
  void append(const void* bytes, size_t count) {
    if (count == 0) return;
    std::memcpy(reserve(count), bytes, count);
    size_ += count;
  }
  // Hands the memory over, cut to size; the buffer is empty afterwards.
  std::shared_ptr<arrow::Buffer> finish();

 private:
  void grow(size_t bytes);
  arrow::MemoryPool* pool_;
  std::unique_ptr<arrow::ResizableBuffer> buffer_;
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

// One column of a JsonNode's type. Appending functions must fit the type.
class JsonColumn {
 public:
  JsonColumn(const JsonNode& node, arrow::MemoryPool* pool);

  int64_t length() const { return length_; }
  JsonColumn& child(size_t i) { return children_[i]; }

  void appendNull();
  void appendBool(bool value) { appendValue<uint8_t>(value ? 1 : 0); }
  template <typename T>
  void appendValue(T value) {
    values_.append(value);
    markValid();
  }
  void appendBytes(std::string_view bytes) {
    values_.append(bytes.data(), bytes.size());
    closeBytes();
  }
  // For strings made in place: write behind values(), then close the row.
  GrowingBuffer& values() { return values_; }
  void closeBytes() {
    offsets_.append(static_cast<int32_t>(values_.size()));
    markValid();
  }
  // After a list's elements, a map's entries (child 0 keys, child 1 values) or a struct's fields were
  // appended.
  void closeList();
  void closeStruct() { markValid(); }

  // Takes back all rows from `length` on, in children too.
  void truncate(int64_t length);
  // The rows as an array; the column is empty afterwards.
  std::shared_ptr<arrow::ArrayData> finish();

 private:
  enum class Layout { Null, Bool, Fixed, Bytes, List, Map, Struct };
  void markValid() {
    if (nullCount_ > 0) valid_.append<uint8_t>(1);
    ++length_;
  }
  int32_t endOffset(int64_t row) const;
  std::shared_ptr<arrow::Buffer> finishValidity();

  Layout layout_;
  size_t width_ = 0;
  std::shared_ptr<arrow::DataType> type_;
  arrow::MemoryPool* pool_;
  GrowingBuffer values_;
  GrowingBuffer offsets_;
  GrowingBuffer valid_;  // one byte a row, from the first null on complete
  int64_t length_ = 0;
  int64_t nullCount_ = 0;
  std::vector<JsonColumn> children_;
};

}  // namespace thalweg
