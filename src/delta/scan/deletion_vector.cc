#include "delta/scan/deletion_vector.h"

#include <map>
#include <new>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <roaring/roaring.h>
#include <zlib.h>

#include "common/error.h"
#include "delta/scan/roaring_reader.h"
#include "delta/scan/vector_files.h"
#include "delta/scan/z85.h"
#include "storage/storage_error.h"

namespace thalweg::delta {
namespace {

constexpr uint32_t kPortableMagic = 1681511377;
constexpr int64_t kMaxBlobBytes = int64_t{1} << 30;
constexpr size_t kUuidTextBytes = 20;

Error invalid(const std::string& reason) {
  return Error("DELTA_DELETION_VECTOR_INVALID", "A deletion vector cannot be read: " + reason + ".");
}

template <typename Integer>
Integer takeLittleEndian(std::string_view& bytes) {
  if (bytes.size() < sizeof(Integer)) throw invalid("it is cut short");
  Integer value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

uint32_t bigEndianAt(std::string_view bytes, size_t offset) {
  uint32_t value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return __builtin_bswap32(value);
}

std::string readBlob(const Location& file, const DeletionVector& vector) {
  const auto fail = [&](const std::string& condition, const std::string& reason) {
    return Error(condition, "The deletion vector in " + file.path + " is damaged: " + reason + ".",
                 {{"path", file.path}});
  };
  if (vector.sizeInBytes <= 0 || vector.sizeInBytes > kMaxBlobBytes)
    throw invalid("its size is out of range");
  const int64_t size = vector.sizeInBytes;
  const auto input = file.fileSystem->openInput(file.path);
  const auto bytes = input->ReadAt(vector.offset.value_or(0), size + 8);
  throwIfStorageFailed(bytes.status(), "read", file.path);
  const std::string_view view(**bytes);
  if (static_cast<int64_t>(view.size()) < size + 8) {
    throw fail("DELTA_DELETION_VECTOR_SIZE_MISMATCH", "the file is cut short");
  }
  if (bigEndianAt(view, 0) != static_cast<uint32_t>(size)) {
    throw fail("DELTA_DELETION_VECTOR_SIZE_MISMATCH",
               fmt::format("its size is {} in the file and {} in the log", bigEndianAt(view, 0), size));
  }
  const std::string_view blob = view.substr(4, static_cast<size_t>(size));
  const auto checksum = crc32(0, reinterpret_cast<const Bytef*>(blob.data()), static_cast<uInt>(size));
  if (bigEndianAt(view, 4 + static_cast<size_t>(size)) != static_cast<uint32_t>(checksum)) {
    throw fail("DELTA_DELETION_VECTOR_CHECKSUM_MISMATCH", "its checksum is wrong");
  }
  return std::string(blob);
}

std::string inlineBlob(const DeletionVector& vector) {
  auto blob = decodeZ85(vector.pathOrInlineDv);
  if (!blob) throw invalid("its inline text is not in base 85");
  if (vector.sizeInBytes < 0 || static_cast<size_t>(vector.sizeInBytes) > blob->size() ||
      blob->size() - static_cast<size_t>(vector.sizeInBytes) > 3) {
    throw Error("DELTA_DELETION_VECTOR_SIZE_MISMATCH",
                "An inline deletion vector has another size than the log says.");
  }
  blob->resize(static_cast<size_t>(vector.sizeInBytes));
  return *std::move(blob);
}

}  // namespace

struct DeletedRows::Bitmaps {
  std::map<uint32_t, RoaringPointer> byHighBits;
  int64_t cardinality = 0;

  void count() {
    cardinality = 0;
    for (const auto& [key, bitmap] : byHighBits) {
      cardinality += static_cast<int64_t>(roaring_bitmap_get_cardinality(bitmap.get()));
    }
  }
};

DeletedRows::DeletedRows(std::unique_ptr<Bitmaps> bitmaps) : bitmaps_(std::move(bitmaps)) {}
DeletedRows::~DeletedRows() = default;
int64_t DeletedRows::cardinality() const {
  return bitmaps_->cardinality;
}

std::shared_ptr<const DeletedRows> DeletedRows::parse(std::string_view blob) {
  const auto magic = takeLittleEndian<uint32_t>(blob);
  if (magic != kPortableMagic) throw invalid(fmt::format("its format {} is unknown", magic));
  const auto count = takeLittleEndian<uint64_t>(blob);
  if (count > blob.size() / 8) throw invalid("it claims more parts than it has bytes");
  auto bitmaps = std::make_unique<Bitmaps>();
  int64_t lastKey = -1;
  for (uint64_t i = 0; i < count; ++i) {
    const auto key = takeLittleEndian<uint32_t>(blob);
    if (int64_t{key} <= lastKey || key > 0x7FFFFFFF) throw invalid("its parts are not in order");
    lastKey = key;
    RoaringPointer bitmap = readRoaring(blob);
    if (!bitmap) throw invalid("one of its bitmaps is malformed");
    bitmaps->byHighBits.emplace(key, std::move(bitmap));
  }
  bitmaps->count();
  return std::shared_ptr<const DeletedRows>(new DeletedRows(std::move(bitmaps)));
}

std::shared_ptr<const DeletedRows> DeletedRows::none() {
  return std::shared_ptr<const DeletedRows>(new DeletedRows(std::make_unique<Bitmaps>()));
}

std::shared_ptr<const DeletedRows> DeletedRows::with(std::span<const int64_t> rows) const {
  auto bitmaps = std::make_unique<Bitmaps>();
  for (const auto& [key, bitmap] : bitmaps_->byHighBits) {
    RoaringPointer copy(roaring_bitmap_copy(bitmap.get()));
    if (!copy) throw std::bad_alloc();
    bitmaps->byHighBits.emplace(key, std::move(copy));
  }
  for (const int64_t row : rows) {
    THALWEG_ASSERT(row >= 0);
    RoaringPointer& bitmap = bitmaps->byHighBits[static_cast<uint32_t>(row >> 32)];
    if (!bitmap) bitmap.reset(roaring_bitmap_create());
    if (!bitmap) throw std::bad_alloc();
    roaring_bitmap_add(bitmap.get(), static_cast<uint32_t>(row));
  }
  for (const auto& [key, bitmap] : bitmaps->byHighBits) roaring_bitmap_run_optimize(bitmap.get());
  bitmaps->count();
  return std::shared_ptr<const DeletedRows>(new DeletedRows(std::move(bitmaps)));
}

std::shared_ptr<const DeletedRows> DeletedRows::without(const DeletedRows& rows) const {
  auto bitmaps = std::make_unique<Bitmaps>();
  for (const auto& [key, bitmap] : bitmaps_->byHighBits) {
    const auto other = rows.bitmaps_->byHighBits.find(key);
    RoaringPointer rest(other == rows.bitmaps_->byHighBits.end()
                            ? roaring_bitmap_copy(bitmap.get())
                            : roaring_bitmap_andnot(bitmap.get(), other->second.get()));
    if (!rest) throw std::bad_alloc();
    if (!roaring_bitmap_is_empty(rest.get())) bitmaps->byHighBits.emplace(key, std::move(rest));
  }
  bitmaps->count();
  return std::shared_ptr<const DeletedRows>(new DeletedRows(std::move(bitmaps)));
}

std::string DeletedRows::serialize() const {
  std::string blob;
  const auto put = [&](auto value) { blob.append(reinterpret_cast<const char*>(&value), sizeof value); };
  put(kPortableMagic);
  put(static_cast<uint64_t>(bitmaps_->byHighBits.size()));
  for (const auto& [key, bitmap] : bitmaps_->byHighBits) {
    put(key);
    const size_t start = blob.size();
    blob.resize(start + roaring_bitmap_portable_size_in_bytes(bitmap.get()));
    roaring_bitmap_portable_serialize(bitmap.get(), blob.data() + start);
  }
  return blob;
}

bool DeletedRows::contains(int64_t row) const {
  const auto it = bitmaps_->byHighBits.find(static_cast<uint32_t>(row >> 32));
  return it != bitmaps_->byHighBits.end() &&
         roaring_bitmap_contains(it->second.get(), static_cast<uint32_t>(row));
}

std::vector<int64_t> DeletedRows::rows() const {
  std::vector<int64_t> rows;
  rows.reserve(static_cast<size_t>(cardinality()));
  for (const auto& [key, bitmap] : bitmaps_->byHighBits) {
    roaring_uint32_iterator_t iterator;
    roaring_init_iterator(bitmap.get(), &iterator);
    for (; iterator.has_value; roaring_advance_uint32_iterator(&iterator)) {
      rows.push_back((int64_t{key} << 32) + iterator.current_value);
    }
  }
  return rows;
}

std::vector<int64_t> DeletedRows::rowsWithin(int64_t first, int64_t count) const {
  std::vector<int64_t> within;
  const int64_t end = first + count;
  for (const auto& [key, bitmap] : bitmaps_->byHighBits) {
    const int64_t base = int64_t{key} << 32;
    if (base >= end || base + (int64_t{1} << 32) <= first) continue;
    roaring_uint32_iterator_t iterator;
    roaring_init_iterator(bitmap.get(), &iterator);
    roaring_move_uint32_iterator_equalorlarger(&iterator,
                                               static_cast<uint32_t>(std::max<int64_t>(first - base, 0)));
    for (; iterator.has_value && base + iterator.current_value < end;
         roaring_advance_uint32_iterator(&iterator)) {
      within.push_back(base + iterator.current_value - first);
    }
  }
  return within;
}

std::shared_ptr<arrow::Int64Array> DeletedRows::liveRows(int64_t first, int64_t count) const {
  const std::vector<int64_t> deleted = rowsWithin(first, count);
  if (deleted.empty()) return nullptr;
  std::vector<int64_t> live;
  live.reserve(static_cast<size_t>(count) - deleted.size());
  int64_t next = 0;
  for (const int64_t row : deleted) {
    for (; next < row; ++next) live.push_back(next);
    next = row + 1;
  }
  for (; next < count; ++next) live.push_back(next);
  const auto size = static_cast<int64_t>(live.size());
  return std::make_shared<arrow::Int64Array>(size, arrow::Buffer::FromVector(std::move(live)));
}

std::string deletionVectorFileName(std::string_view uuidBytes) {
  std::string name = "deletion_vector_";
  for (size_t i = 0; i < uuidBytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) name += '-';
    name += fmt::format("{:02x}", static_cast<unsigned char>(uuidBytes[i]));
  }
  return name + ".bin";
}

std::string relativeVectorPath(const std::string& text) {
  if (text.size() < kUuidTextBytes) throw invalid("the name of its file is cut short");
  const std::string prefix = text.substr(0, text.size() - kUuidTextBytes);
  const auto uuid = decodeZ85(std::string_view(text).substr(prefix.size()));
  if (!uuid || prefix.find('/') != std::string::npos || prefix == "." || prefix == "..") {
    throw invalid("'" + text + "' names no file");
  }
  return (prefix.empty() ? "" : prefix + "/") + deletionVectorFileName(*uuid);
}

std::shared_ptr<const DeletedRows> readDeletionVector(const Location& table, const DeletionVector& vector,
                                                      const AddressResolver& resolve) {
  std::string blob;
  if (vector.storageType == "i") {
    blob = inlineBlob(vector);
  } else if (vector.storageType == "u") {
    blob = readBlob({table.fileSystem, table.path + "/" + relativeVectorPath(vector.pathOrInlineDv)}, vector);
  } else if (vector.storageType == "p") {
    blob = readBlob(resolve(vector.pathOrInlineDv), vector);
  } else {
    throw invalid("its storage type '" + vector.storageType + "' is unknown");
  }
  const auto rows = DeletedRows::parse(blob);
  if (rows->cardinality() != vector.cardinality) {
    throw Error("DELTA_DELETION_VECTOR_CARDINALITY_MISMATCH",
                fmt::format("A deletion vector holds {} rows and the log says {}.", rows->cardinality(),
                            vector.cardinality));
  }
  return rows;
}

}  // namespace thalweg::delta
