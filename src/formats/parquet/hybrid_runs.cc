#include "formats/parquet/hybrid_runs.h"

#include <bit>

namespace thalweg {
namespace {

constexpr int64_t kGroup = 8;
// So that a packed run's header takes one byte, which is left room for before the length is known.
constexpr int kMostGroups = 63;

void appendVarint(uint64_t value, std::vector<uint8_t>& out) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<uint8_t>(value | 0x80));
  out.push_back(static_cast<uint8_t>(value));
}

template <typename Value>
bool eightEqual(const Value* values) {
  for (int i = 1; i < kGroup; ++i) {
    if (values[i] != values[0]) return false;
  }
  return true;
}

// One group of eight values: exactly bitWidth bytes. A shorter last one is filled up with zeros.
template <typename Value>
void packGroup(const Value* values, int64_t count, int bitWidth, std::vector<uint8_t>& out) {
  uint8_t packed[32 + 4];
  uint8_t* next = packed;
  uint64_t bits = 0;
  int held = 0;
  for (int64_t i = 0; i < kGroup; ++i) {
    if (i < count) bits |= uint64_t{static_cast<uint32_t>(values[i])} << held;
    held += bitWidth;
    if (held >= 32) {
      const auto word = static_cast<uint32_t>(bits);
      __builtin_memcpy(next, &word, 4);
      next += 4;
      bits >>= 32;
      held -= 32;
    }
  }
  const auto word = static_cast<uint32_t>(bits);
  __builtin_memcpy(next, &word, 4);
  out.insert(out.end(), packed, packed + bitWidth);
}

template <typename Value>
void appendAll(const Value* values, int64_t count, int bitWidth, std::vector<uint8_t>& out) {
  for (int64_t i = 0; i < count;) {
    int64_t end = i + 1;
    while (end < count && values[end] == values[i]) ++end;
    if (end - i >= kGroup) {
      appendHybridRun(static_cast<uint32_t>(values[i]), end - i, bitWidth, out);
      i = end;
      continue;
    }
    const size_t header = out.size();
    out.push_back(0);
    int groups = 0;
    do {
      packGroup(values + i, count - i, bitWidth, out);
      ++groups;
      i += kGroup;
    } while (groups < kMostGroups && i < count && !(i + kGroup <= count && eightEqual(values + i)));
    out[header] = static_cast<uint8_t>(groups << 1 | 1);
  }
}

}  // namespace

int bitWidthOf(uint32_t largest) {
  return std::bit_width(largest);
}

void appendHybridRuns(const uint32_t* values, int64_t count, int bitWidth, std::vector<uint8_t>& out) {
  appendAll(values, count, bitWidth, out);
}

void appendHybridRuns(const int16_t* values, int64_t count, int bitWidth, std::vector<uint8_t>& out) {
  appendAll(values, count, bitWidth, out);
}

void appendHybridRun(uint32_t value, int64_t count, int bitWidth, std::vector<uint8_t>& out) {
  if (count == 0) return;
  appendVarint(static_cast<uint64_t>(count) << 1, out);
  for (int bit = 0; bit < bitWidth; bit += 8) out.push_back(static_cast<uint8_t>(value >> bit));
}

}  // namespace thalweg
