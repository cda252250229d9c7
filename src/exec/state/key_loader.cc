#include "exec/state/key_loader.h"

#include <algorithm>

#include "exec/state/in_blocks.h"

namespace thalweg {
namespace {

// Of a key beside its bytes: its slots in the table, the string of its value.
constexpr int64_t kKeyBytes = 64;

}  // namespace

void KeyLoader::clear() {
  loaded_ = std::vector<std::string>();
  bytes_ = 0;
}

void KeyLoader::apply(const StateChange& change) {
  bool added = false;
  const uint32_t number = keys_.findOrAddHot(change.key, &added);
  const int64_t keyBytes = kKeyBytes + static_cast<int64_t>(change.key.size());
  if (added) bytes_ += keyBytes;
  if (value_.empty()) {
    if (number >= loaded_.size()) loaded_.resize(number + 1);
    bytes_ += static_cast<int64_t>(change.value.size()) - static_cast<int64_t>(loaded_[number].size());
    loaded_[number] = change.value;  // none of a key that goes
  }
  if (change.kind == StateChange::Kind::Remove) {
    bytes_ -= keyBytes;
    keys_.remove(number);
    return dropCold(change.key);
  }
  if (bytes_ > std::max(keys_.room().bytes, keys_.room().leastLoaded)) spill();
}

// What the change files say is newer than what went to the cold tier before them.
void KeyLoader::dropCold(std::string_view key) {
  std::string ignored;
  if (keys_.numCold() > 0) keys_.cold()->take(key, &ignored);
}

KeyLoader::Block KeyLoader::blockOf(std::span<const uint32_t> numbers) const {
  Block block;
  for (const uint32_t number : numbers) {
    block.keys.push_back(keys_.table().key(number));
    block.values.push_back(value_.empty() ? std::string_view(loaded_[number]) : value_);
  }
  block.ends.resize(numbers.size(), StateKeys::kNever);
  endsOf_(block.keys, block.values, block.ends);
  return block;
}

void KeyLoader::spill() {
  inBlocks(std::span<const uint32_t>(keys_.table().liveNumbers()), [&](std::span<const uint32_t> numbers) {
    const Block block = blockOf(numbers);
    for (size_t i = 0; i < numbers.size(); ++i) {
      dropCold(block.keys[i]);
      keys_.addCold(block.keys[i], block.values[i], block.ends[i]);
    }
  });
  keys_.flushCold();
  keys_.forgetHot();
  clear();
}

void KeyLoader::finish() {
  inBlocks(std::span<const uint32_t>(keys_.table().liveNumbers()), [&](std::span<const uint32_t> numbers) {
    const Block block = blockOf(numbers);
    for (const std::string_view key : block.keys) dropCold(key);
    values_.moveIn(numbers, block.values, block.ends);
  });
  keys_.flushCold();
  clear();
}

}  // namespace thalweg
