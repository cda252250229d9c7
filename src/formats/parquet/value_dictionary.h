// Dictionaries of a column chunk: values numbered in order of first appearance, found by hash.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace thalweg {

// Drawn once a process: the values may be an attacker's, who must not know which of them collide.
extern const uint64_t kDictionarySeed;

// Folds two words into a hash.
inline uint64_t mixedHash(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a ^ kDictionarySeed) * (b ^ 0x9E3779B97F4A7C15u);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// What codeOf says where the dictionary is full.
inline constexpr uint32_t kNoCode = ~uint32_t{0};

// Numbers by their bits (uint32_t or uint64_t), so that every NaN and both zeros stay what they are.
template <typename Bits>
class NumberDictionary {
 public:
  explicit NumberDictionary(int64_t maxBytes) : maxValues_(static_cast<size_t>(maxBytes) / sizeof(Bits)) {
    clear();
  }

  // The value's number; a new value has the number size() - 1. kNoCode where there is no room for another
  // one.
  uint32_t codeOf(Bits value) {
    for (size_t i = mixedHash(value, sizeof(Bits)) & mask_;; i = (i + 1) & mask_) {
      const uint32_t code = table_[i];
      if (code == kNoCode) return insert(value, i);
      if (values_[code] == value) return code;
    }
  }
  Bits value(uint32_t code) const { return values_[code]; }
  size_t size() const { return values_.size(); }
  int64_t bytes() const { return static_cast<int64_t>(values_.size() * sizeof(Bits)); }
  // The values as a dictionary page has them.
  std::vector<uint8_t> page() const {
    std::vector<uint8_t> bytes(values_.size() * sizeof(Bits));
    if (!bytes.empty()) std::memcpy(bytes.data(), values_.data(), bytes.size());
    return bytes;
  }
  int64_t heldBytes() const {
    return static_cast<int64_t>(values_.capacity() * sizeof(Bits) + table_.size() * 4);
  }
  void clear() {
    values_ = {};
    table_.assign(kFirstSlots, kNoCode);
    table_.shrink_to_fit();
    mask_ = kFirstSlots - 1;
  }

 private:
  static constexpr size_t kFirstSlots = 64;

  uint32_t insert(Bits value, size_t slot) {
    if (values_.size() == maxValues_) return kNoCode;
    table_[slot] = static_cast<uint32_t>(values_.size());
    values_.push_back(value);
    if (values_.size() * 2 > table_.size()) grow();
    return static_cast<uint32_t>(values_.size() - 1);
  }
  void grow() {
    table_.assign(table_.size() * 2, kNoCode);
    mask_ = table_.size() - 1;
    for (uint32_t code = 0; code < values_.size(); ++code) {
      size_t i = mixedHash(values_[code], sizeof(Bits)) & mask_;
      while (table_[i] != kNoCode) i = (i + 1) & mask_;
      table_[i] = code;
    }
  }

  size_t maxValues_;
  std::vector<Bits> values_;
  std::vector<uint32_t> table_;  // codes, at most half of it used
  size_t mask_ = 0;
};

// Texts and bytes. They are kept as the dictionary page has them: four bytes of length, then the bytes.
class BinaryDictionary {
 public:
  explicit BinaryDictionary(int64_t maxBytes) : maxBytes_(static_cast<size_t>(maxBytes)) { clear(); }

  // As NumberDictionary's.
  uint32_t codeOf(std::string_view value) {
    const Front front(value);
    const uint64_t hash = front.hash(value);
    for (size_t i = hash & mask_;; i = (i + 1) & mask_) {
      const Slot slot = table_[i];
      if (slot.code == kNoCode) return insert(value, hash, i);
      if (slot.hash == static_cast<uint32_t>(hash >> 32) && front.same(value, this->value(slot.code)))
        return slot.code;
    }
  }
  std::string_view value(uint32_t code) const {
    const uint8_t* entry = page_.data() + offsets_[code];
    uint32_t length;
    std::memcpy(&length, entry, 4);
    return {reinterpret_cast<const char*>(entry + 4), length};
  }
  size_t size() const { return offsets_.size(); }
  int64_t bytes() const { return static_cast<int64_t>(page_.size()); }
  const std::vector<uint8_t>& page() const { return page_; }
  int64_t heldBytes() const {
    return static_cast<int64_t>(page_.capacity() + offsets_.capacity() * 4 + table_.size() * sizeof(Slot));
  }
  void clear() {
    page_ = {};
    offsets_ = {};
    table_.assign(kFirstSlots, Slot());
    table_.shrink_to_fit();
    mask_ = kFirstSlots - 1;
  }

 private:
  static constexpr size_t kFirstSlots = 64;

  struct Slot {
    uint32_t hash = 0;
    uint32_t code = kNoCode;
  };

  // Two words that, with the length, are the whole of a value of up to 16 bytes, and the two ends of a longer
  // one. Reads no byte beyond the value.
  struct Front {
    uint64_t first = 0;
    uint64_t last = 0;

    explicit Front(std::string_view value) {
      const char* text = value.data();
      const size_t size = value.size();
      if (size >= 8) {
        std::memcpy(&first, text, 8);
        std::memcpy(&last, text + size - 8, 8);
      } else if (size >= 4) {
        std::memcpy(&first, text, 4);
        std::memcpy(&last, text + size - 4, 4);
      } else if (size > 0) {
        first = static_cast<uint8_t>(text[0]) | static_cast<uint32_t>(static_cast<uint8_t>(text[size / 2]))
                                                    << 8;
        last = static_cast<uint8_t>(text[size - 1]);
      }
    }
    uint64_t hash(std::string_view value) const {
      uint64_t hash = mixedHash(first, last ^ value.size() << 56);
      for (size_t i = 8; i + 8 < value.size(); i += 8) {
        uint64_t word;
        std::memcpy(&word, value.data() + i, 8);
        hash = mixedHash(hash, word);
      }
      return hash;
    }
    bool same(std::string_view value, std::string_view other) const {
      if (value.size() != other.size()) return false;
      if (value.size() > 16) return value == other;
      const Front front(other);
      return first == front.first && last == front.last;
    }
  };

  uint32_t insert(std::string_view value, uint64_t hash, size_t slot);
  void grow();

  size_t maxBytes_;
  std::vector<uint8_t> page_;
  std::vector<uint32_t> offsets_;  // of the values' entries in the page
  std::vector<Slot> table_;        // at most half of it used
  size_t mask_ = 0;
};

}  // namespace thalweg
