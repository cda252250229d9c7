#include "formats/parquet/value_dictionary.h"

#include <random>

namespace thalweg {
namespace {

uint64_t randomSeed() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

}  // namespace

const uint64_t kDictionarySeed = randomSeed();

uint32_t BinaryDictionary::insert(std::string_view value, uint64_t hash, size_t slot) {
  if (page_.size() + 4 + value.size() > maxBytes_) return kNoCode;
  const auto code = static_cast<uint32_t>(offsets_.size());
  table_[slot] = {static_cast<uint32_t>(hash >> 32), code};
  offsets_.push_back(static_cast<uint32_t>(page_.size()));
  const auto length = static_cast<uint32_t>(value.size());
  const auto* lengthBytes = reinterpret_cast<const uint8_t*>(&length);
  page_.insert(page_.end(), lengthBytes, lengthBytes + 4);
  page_.insert(page_.end(), value.begin(), value.end());
  if (offsets_.size() * 2 > table_.size()) grow();
  return code;
}

void BinaryDictionary::grow() {
  table_.assign(table_.size() * 2, Slot());
  mask_ = table_.size() - 1;
  for (uint32_t code = 0; code < offsets_.size(); ++code) {
    const std::string_view text = value(code);
    const uint64_t hash = Front(text).hash(text);
    size_t i = hash & mask_;
    while (table_[i].code != kNoCode) i = (i + 1) & mask_;
    table_[i] = {static_cast<uint32_t>(hash >> 32), code};
  }
}

}  // namespace thalweg
