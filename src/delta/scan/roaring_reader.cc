#include "delta/scan/roaring_reader.h"

#include <cstring>
#include <new>
#include <optional>
#include <vector>

#include <roaring/roaring.h>

namespace thalweg::delta {
namespace {

constexpr uint32_t kCookieWithoutRuns = 12346;
constexpr uint32_t kCookieWithRuns = 12347;
constexpr uint32_t kOffsetsFrom = 4;  // with runs, smaller bitmaps have no offset header
constexpr size_t kBitsetBytes = 8192;
constexpr uint32_t kMaxArrayValues = 4096;

template <typename Integer>
std::optional<Integer> takeInteger(std::string_view& bytes) {
  if (bytes.size() < sizeof(Integer)) return std::nullopt;
  Integer value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

std::optional<std::string_view> takeBytes(std::string_view& bytes, size_t count) {
  if (bytes.size() < count) return std::nullopt;
  const std::string_view front = bytes.substr(0, count);
  bytes.remove_prefix(count);
  return front;
}

uint16_t shortAt(std::string_view bytes, size_t index) {
  uint16_t value;
  std::memcpy(&value, bytes.data() + index * 2, sizeof value);
  return value;
}

bool addArray(roaring_bitmap_t* bitmap, uint32_t base, uint32_t cardinality, std::string_view& bytes) {
  const auto values = takeBytes(bytes, size_t{cardinality} * 2);
  if (!values) return false;
  std::vector<uint32_t> rows(cardinality);
  for (uint32_t i = 0; i < cardinality; ++i) {
    rows[i] = base | shortAt(*values, i);
    if (i > 0 && rows[i] <= rows[i - 1]) return false;
  }
  roaring_bitmap_add_many(bitmap, rows.size(), rows.data());
  return true;
}

bool addBitset(roaring_bitmap_t* bitmap, uint32_t base, uint32_t cardinality, std::string_view& bytes) {
  const auto bits = takeBytes(bytes, kBitsetBytes);
  if (!bits) return false;
  std::vector<uint32_t> rows;
  rows.reserve(65536);
  for (uint32_t i = 0; i < kBitsetBytes; ++i) {
    const auto byte = static_cast<unsigned char>((*bits)[i]);
    for (uint32_t bit = 0; bit < 8; ++bit) {
      if (byte >> bit & 1) rows.push_back(base | (i * 8 + bit));
    }
  }
  if (rows.size() != cardinality) return false;
  roaring_bitmap_add_many(bitmap, rows.size(), rows.data());
  return true;
}

bool addRuns(roaring_bitmap_t* bitmap, uint32_t base, std::string_view& bytes) {
  const auto count = takeInteger<uint16_t>(bytes);
  if (!count) return false;
  const auto runs = takeBytes(bytes, size_t{*count} * 4);
  if (!runs) return false;
  int64_t last = -1;
  for (uint32_t i = 0; i < *count; ++i) {
    const uint32_t start = shortAt(*runs, size_t{i} * 2);
    const uint32_t end = start + shortAt(*runs, size_t{i} * 2 + 1);
    if (int64_t{start} <= last || end > 0xFFFF) return false;
    last = end;
    roaring_bitmap_add_range_closed(bitmap, base | start, base | end);
  }
  return true;
}

}  // namespace

void RoaringFree::operator()(roaring_bitmap_s* bitmap) const {
  roaring_bitmap_free(bitmap);
}

RoaringPointer readRoaring(std::string_view& bytes) {
  const auto cookie = takeInteger<uint32_t>(bytes);
  if (!cookie) return nullptr;
  const bool hasRuns = (*cookie & 0xFFFF) == kCookieWithRuns;
  std::string_view runFlags;
  uint32_t containers = 0;
  if (hasRuns) {
    containers = (*cookie >> 16) + 1;
    const auto flags = takeBytes(bytes, (containers + 7) / 8);
    if (!flags) return nullptr;
    runFlags = *flags;
  } else {
    const auto count = takeInteger<uint32_t>(bytes);
    if (*cookie != kCookieWithoutRuns || !count || *count > 65536) return nullptr;
    containers = *count;
  }
  const auto header = takeBytes(bytes, size_t{containers} * 4);
  if (!header) return nullptr;
  const bool hasOffsets = !hasRuns || containers >= kOffsetsFrom;
  // Containers follow one another without gaps, so the offsets say nothing new.
  if (hasOffsets && !takeBytes(bytes, size_t{containers} * 4)) return nullptr;

  RoaringPointer bitmap(roaring_bitmap_create());
  if (!bitmap) throw std::bad_alloc();
  int64_t lastKey = -1;
  for (uint32_t i = 0; i < containers; ++i) {
    const uint32_t key = shortAt(*header, size_t{i} * 2);
    const uint32_t cardinality = uint32_t{shortAt(*header, size_t{i} * 2 + 1)} + 1;
    if (int64_t{key} <= lastKey) return nullptr;
    lastKey = key;
    const bool isRun = hasRuns && (static_cast<unsigned char>(runFlags[i / 8]) >> (i % 8) & 1);
    const uint32_t base = key << 16;
    const bool added = isRun                            ? addRuns(bitmap.get(), base, bytes)
                       : cardinality <= kMaxArrayValues ? addArray(bitmap.get(), base, cardinality, bytes)
                                                        : addBitset(bitmap.get(), base, cardinality, bytes);
    if (!added) return nullptr;
  }
  roaring_bitmap_run_optimize(bitmap.get());
  return bitmap;
}

}  // namespace thalweg::delta
