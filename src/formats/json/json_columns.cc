#include "formats/json/json_columns.h"

#include <algorithm>
#include <limits>

#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/type.h>

#include "common/error.h"

namespace thalweg {
namespace {

// Offsets are 32 bits wide.
constexpr size_t kMaxBytes = std::numeric_limits<int32_t>::max();

size_t fixedWidth(TypeId type) {
  switch (type) {
    case TypeId::Boolean:
    case TypeId::Byte:
      return 1;
    case TypeId::Short:
      return 2;
    case TypeId::Int:
    case TypeId::Float:
    case TypeId::Date:
      return 4;
    case TypeId::Decimal:
      return 16;
    default:
      return 8;
  }
}

JsonNode keyNode() {
  return JsonNode::compile(stringType());
}

// One bit a byte, lowest first.
std::shared_ptr<arrow::Buffer> packBits(const uint8_t* bytes, int64_t count, arrow::MemoryPool* pool) {
  GrowingBuffer bits(pool);
  const size_t size = static_cast<size_t>((count + 7) / 8);
  uint8_t* out = bits.reserve(size);
  std::memset(out, 0, size);
  for (int64_t i = 0; i < count; ++i)
    out[i >> 3] = static_cast<uint8_t>(out[i >> 3] | (bytes[i] & 1) << (i & 7));
  bits.setSize(size);
  return bits.finish();
}

}  // namespace

GrowingBuffer::GrowingBuffer(arrow::MemoryPool* pool) : pool_(pool) {}
GrowingBuffer::GrowingBuffer(GrowingBuffer&&) noexcept = default;
GrowingBuffer::~GrowingBuffer() = default;

void GrowingBuffer::grow(size_t bytes) {
  constexpr size_t kSmallest = 256;
  const size_t wanted = std::max({kSmallest, capacity_ * 2, size_ + bytes});
  if (size_ + bytes > kMaxBytes) {
    throw Error("OUT_OF_MEMORY",
                "A column of parsed JSON would pass 2 GB in one batch: make batches smaller.");
  }
  arrow::Status status;
  if (!buffer_) {
    auto made = arrow::AllocateResizableBuffer(static_cast<int64_t>(wanted), pool_);
    status = made.status();
    if (made.ok()) buffer_ = std::move(made).ValueUnsafe();
  } else {
    status = buffer_->Resize(static_cast<int64_t>(wanted), false);
  }
  if (!status.ok())
    throw Error("OUT_OF_MEMORY", "No memory for a column of parsed JSON: " + status.message());
  data_ = buffer_->mutable_data();
  capacity_ = static_cast<size_t>(buffer_->size());
}

std::shared_ptr<arrow::Buffer> GrowingBuffer::finish() {
  if (!buffer_) reserve(1);
  const arrow::Status status = buffer_->Resize(static_cast<int64_t>(size_), false);
  THALWEG_ASSERT(status.ok());
  buffer_->ZeroPadding();
  std::shared_ptr<arrow::Buffer> result = std::move(buffer_);
  buffer_ = nullptr;
  data_ = nullptr;
  size_ = 0;
  capacity_ = 0;
  return result;
}

JsonColumn::JsonColumn(const JsonNode& node, arrow::MemoryPool* pool)
    : type_(node.arrowType), pool_(pool), values_(pool), offsets_(pool), valid_(pool) {
  switch (node.type) {
    case TypeId::Void:
      layout_ = Layout::Null;
      break;
    case TypeId::Boolean:
      layout_ = Layout::Bool;
      break;
    case TypeId::String:
    case TypeId::Binary:
      layout_ = Layout::Bytes;
      break;
    case TypeId::Array:
      layout_ = Layout::List;
      break;
    case TypeId::Map:
      layout_ = Layout::Map;
      children_.emplace_back(keyNode(), pool);
      break;
    case TypeId::Struct:
      layout_ = Layout::Struct;
      break;
    default:
      layout_ = Layout::Fixed;
      break;
  }
  if (layout_ == Layout::Fixed || layout_ == Layout::Bool) width_ = fixedWidth(node.type);
  for (const JsonNode& child : node.children) children_.emplace_back(child, pool);
}

void JsonColumn::appendNull() {
  if (nullCount_++ == 0) {
    const auto before = static_cast<size_t>(length_);
    if (before > 0) std::memset(valid_.reserve(before), 1, before);
    valid_.setSize(before);
  }
  valid_.append<uint8_t>(0);
  ++length_;
  switch (layout_) {
    case Layout::Null:
      break;
    case Layout::Bool:
    case Layout::Fixed:
      std::memset(values_.reserve(width_), 0, width_);
      values_.setSize(values_.size() + width_);
      break;
    case Layout::Bytes:
      offsets_.append(static_cast<int32_t>(values_.size()));
      break;
    case Layout::List:
      offsets_.append(static_cast<int32_t>(children_[0].length()));
      break;
    case Layout::Map:
      offsets_.append(static_cast<int32_t>(children_[1].length()));
      break;
    case Layout::Struct:
      for (JsonColumn& child : children_) child.appendNull();
      break;
  }
}

void JsonColumn::closeList() {
  offsets_.append(static_cast<int32_t>(children_.back().length()));
  markValid();
}

int32_t JsonColumn::endOffset(int64_t row) const {
  if (row == 0) return 0;
  int32_t offset = 0;
  std::memcpy(&offset,
              const_cast<GrowingBuffer&>(offsets_).data() + static_cast<size_t>(row - 1) * sizeof offset,
              sizeof offset);
  return offset;
}

void JsonColumn::truncate(int64_t length) {
  if (length == length_ && layout_ != Layout::Struct && layout_ != Layout::List && layout_ != Layout::Map &&
      layout_ != Layout::Bytes) {
    return;
  }
  if (nullCount_ > 0 && length < length_) {
    const uint8_t* valid = valid_.data();
    for (int64_t i = length; i < length_; ++i) nullCount_ -= valid[i] == 0 ? 1 : 0;
    valid_.setSize(nullCount_ > 0 ? static_cast<size_t>(length) : 0);
  }
  const auto rows = static_cast<size_t>(length);
  if (layout_ == Layout::Fixed || layout_ == Layout::Bool) values_.setSize(rows * width_);
  if (layout_ == Layout::Bytes || layout_ == Layout::List || layout_ == Layout::Map) {
    const int32_t end = endOffset(length);
    offsets_.setSize(rows * sizeof(int32_t));
    if (layout_ == Layout::Bytes) values_.setSize(static_cast<size_t>(end));
    for (JsonColumn& child : children_) child.truncate(end);
  }
  if (layout_ == Layout::Struct) {
    for (JsonColumn& child : children_) child.truncate(length);
  }
  length_ = length;
}

std::shared_ptr<arrow::Buffer> JsonColumn::finishValidity() {
  if (nullCount_ == 0) return nullptr;
  auto bits = packBits(valid_.data(), length_, pool_);
  valid_.setSize(0);
  return bits;
}

std::shared_ptr<arrow::ArrayData> JsonColumn::finish() {
  const int64_t length = length_;
  const int64_t nulls = nullCount_;
  std::vector<std::shared_ptr<arrow::Buffer>> buffers;
  std::vector<std::shared_ptr<arrow::ArrayData>> children;
  buffers.push_back(layout_ == Layout::Null ? nullptr : finishValidity());
  if (layout_ == Layout::Null) valid_.setSize(0);
  if (layout_ == Layout::Bytes || layout_ == Layout::List || layout_ == Layout::Map) {
    // Ends are kept; Arrow wants the first beginning too.
    GrowingBuffer offsets(pool_);
    offsets.reserve(offsets_.size() + sizeof(int32_t));
    offsets.append<int32_t>(0);
    if (offsets_.size() > 0) offsets.append(offsets_.data(), offsets_.size());
    offsets_.setSize(0);
    buffers.push_back(offsets.finish());
  }
  switch (layout_) {
    case Layout::Bool:
      buffers.push_back(packBits(values_.data(), length, pool_));
      values_.setSize(0);
      break;
    case Layout::Fixed:
    case Layout::Bytes:
      buffers.push_back(values_.finish());
      break;
    case Layout::List:
    case Layout::Struct:
      for (JsonColumn& child : children_) children.push_back(child.finish());
      break;
    case Layout::Map: {
      const auto& entryType = type_->field(0)->type();
      const int64_t entries = children_[0].length();
      children.push_back(arrow::ArrayData::Make(entryType, entries, {nullptr},
                                                {children_[0].finish(), children_[1].finish()}, 0));
      break;
    }
    case Layout::Null:
      break;
  }
  length_ = 0;
  nullCount_ = 0;
  return arrow::ArrayData::Make(type_, length, std::move(buffers), std::move(children),
                                layout_ == Layout::Null ? length : nulls);
}

}  // namespace thalweg
