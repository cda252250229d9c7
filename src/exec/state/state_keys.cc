#include "exec/state/state_keys.h"

#include <algorithm>

#include "exec/state/in_blocks.h"

namespace thalweg {
namespace {

// Of a key beside its bytes and its values: its slots in the table, its end, pane and flag.
constexpr int64_t kKeyBytes = 52;
// Fewer numbers, or entries of panes that have lost their keys, are not worth a new table.
constexpr int64_t kLeastNumbers = 1024;

std::optional<int64_t> timeOf(int64_t end) {
  return end == StateKeys::kNever ? std::nullopt : std::optional(end);
}

}  // namespace

void StateKeys::setRoom(ColdPartition* cold, StateRoom room) {
  cold_ = cold;
  room_ = room;
}

void StateKeys::clear() {
  forgetHot();
  if (cold_ != nullptr) cold_->clear();
}

void StateKeys::forgetHot() {
  table_ = BinaryKeyTable();
  ends_.clear();
  panes_.clear();
  isUsed_.clear();
  hand_ = 0;
}

int64_t StateKeys::bytes() const {
  return table_.keyBytes() + table_.size() * kKeyBytes + values_.liveBytes();
}

int64_t StateKeys::memoryBytes() const {
  return table_.memoryBytes() + panes_.memoryBytes() +
         static_cast<int64_t>(ends_.capacity() * sizeof(int64_t) + isUsed_.capacity());
}

void StateKeys::resize() {
  const auto count = static_cast<size_t>(table_.numbersEnd());
  if (ends_.size() >= count) return;
  ends_.resize(count, kNever);
  isUsed_.resize(count);
}

void StateKeys::findOrAdd(std::span<const std::string_view> keys, std::vector<uint32_t>* numbers,
                          std::vector<uint32_t>* added) {
  findOrAddHot(keys, numbers, added);
  if (numCold() > 0) warmUp(keys, *numbers, *added);
}

void StateKeys::findOrAddHot(std::span<const std::string_view> keys, std::vector<uint32_t>* numbers,
                             std::vector<uint32_t>* added) {
  table_.findOrAdd(keys, numbers, added);
  resize();
}

uint32_t StateKeys::findOrAddHot(std::string_view key, bool* added) {
  const uint32_t number = table_.findOrAdd(key, added);
  resize();
  return number;
}

void StateKeys::warmUp(std::span<const std::string_view> keys, std::span<const uint32_t> numbers,
                       std::span<const uint32_t> added) {
  inBlocks(added, [&](std::span<const uint32_t> block) {
    std::vector<uint32_t> found;
    std::vector<std::string> values;
    std::vector<int64_t> ends;
    std::string value;
    std::optional<int64_t> end;
    for (const uint32_t i : block) {
      if (!cold_->take(keys[i], &value, &end)) continue;
      found.push_back(numbers[i]);
      values.push_back(std::move(value));
      ends.push_back(end.value_or(kNever));
    }
    if (!found.empty())
      values_.moveIn(found, std::vector<std::string_view>(values.begin(), values.end()), ends);
  });
}

void StateKeys::moveIn(const std::vector<std::string>& keys, std::vector<uint32_t>* numbers) {
  std::vector<uint32_t> added;
  findOrAdd(std::vector<std::string_view>(keys.begin(), keys.end()), numbers, &added);
}

void StateKeys::remove(uint32_t number) {
  ends_[number] = kNever;
  table_.remove(number);
}

void StateKeys::setEnd(uint32_t number, int64_t endMicros) {
  if (ends_[number] == endMicros) return;
  ends_[number] = endMicros;
  if (endMicros != kNever) panes_.add(endMicros, number);
}

std::vector<uint32_t> StateKeys::takeEnded(int64_t watermarkMicros) {
  std::vector<uint32_t> ended = panes_.take(watermarkMicros);
  std::erase_if(ended, [&](uint32_t number) {
    if (ends_[number] > watermarkMicros) return true;
    ends_[number] = kNever;
    return false;
  });
  return ended;
}

void StateKeys::takeEndedCold(int64_t watermarkMicros,
                              const std::function<void(std::span<const uint32_t> numbers)>& visit) {
  if (numCold() == 0) return;
  std::vector<uint32_t> numbers;
  std::vector<std::string> values;
  const auto bringIn = [&] {
    if (numbers.empty()) return;
    const std::vector<int64_t> ends(numbers.size(), kNever);
    values_.moveIn(numbers, std::vector<std::string_view>(values.begin(), values.end()), ends);
    visit(numbers);
    numbers.clear();
    values.clear();
  };
  cold_->takeUntil(watermarkMicros, [&](std::string_view key, std::string_view value) {
    bool added = false;
    numbers.push_back(findOrAddHot(key, &added));
    values.emplace_back(value);
    if (numbers.size() == kBlockSize) bringIn();
  });
  bringIn();
}

void StateKeys::removeEndedCold(int64_t watermarkMicros,
                                const std::function<void(std::string_view key)>& visit) {
  if (numCold() > 0) cold_->removeUntil(watermarkMicros, visit);
}

void StateKeys::settle() {
  if (cold_ != nullptr) coolDown();
  // Columns are as long as the numbers go: where room is short they are cut sooner.
  const int64_t share = room_.bytes == INT64_MAX ? 4 : 2;
  if (table_.numbersEnd() > kLeastNumbers && table_.size() < table_.numbersEnd() / share)
    renumber();
  else if (panes_.size() > 2 * table_.size() + kLeastNumbers)
    rebuildPanes();
}

void StateKeys::coolDown() {
  // What was taken in this batch is seen as gone by other threads once it is written.
  cold_->flush();
  if (room_.bytes == INT64_MAX) return;
  // Values differ in size: one round may not be enough.
  for (int64_t now = bytes(); now > room_.bytes && table_.size() > 0; now = bytes()) {
    const std::vector<uint32_t> numbers = longestUnused(now - room_.bytes / 4 * 3);
    inBlocks(std::span<const uint32_t>(numbers), [&](std::span<const uint32_t> block) { moveOut(block); });
  }
  cold_->flush();
}

// A clock goes over the keys: those that were used since it last came by get another round.
std::vector<uint32_t> StateKeys::longestUnused(int64_t bytes) {
  const int64_t aKey = kKeyBytes + values_.liveBytes() / table_.size();
  const auto count = static_cast<uint32_t>(table_.numbersEnd());
  std::vector<uint32_t> numbers;
  for (int64_t steps = 2 * static_cast<int64_t>(count); steps > 0 && bytes > 0; --steps) {
    hand_ = hand_ + 1 < count ? hand_ + 1 : 0;
    if (!table_.isLive(hand_)) continue;
    if (isUsed_[hand_]) {
      isUsed_[hand_] = 0;
      continue;
    }
    isUsed_[hand_] = 1;  // so that the second round does not take it again
    bytes -= static_cast<int64_t>(table_.key(hand_).size()) + aKey;
    numbers.push_back(hand_);
  }
  for (const uint32_t number : numbers) isUsed_[number] = 0;
  return numbers;
}

void StateKeys::moveOut(std::span<const uint32_t> numbers) {
  std::vector<int64_t> ends;
  for (const uint32_t number : numbers) ends.push_back(ends_[number]);
  moving_.clear();
  values_.moveOut(numbers, &moving_, ends);
  for (size_t i = 0; i < numbers.size(); ++i) {
    cold_->put(table_.key(numbers[i]), moving_[i], timeOf(ends[i]));
    remove(numbers[i]);
  }
}

void StateKeys::addCold(std::string_view key, std::string_view value, int64_t endMicros) {
  cold_->put(key, value, timeOf(endMicros));
}

void StateKeys::flushCold() {
  if (cold_ != nullptr) cold_->flush();
}

void StateKeys::renumber() {
  const std::vector<uint32_t> numbers = table_.liveNumbers();
  values_.renumber(numbers);
  BinaryKeyTable table;
  std::vector<int64_t> ends;
  std::vector<uint8_t> isUsed;
  for (const uint32_t number : numbers) {
    bool added = false;
    table.findOrAdd(table_.key(number), &added);
    ends.push_back(ends_[number]);
    isUsed.push_back(isUsed_[number]);
  }
  table_ = std::move(table);
  ends_ = std::move(ends);
  isUsed_ = std::move(isUsed);
  hand_ = 0;
  rebuildPanes();
}

void StateKeys::rebuildPanes() {
  panes_.clear();
  for (uint32_t number = 0; number < ends_.size(); ++number) {
    if (ends_[number] != kNever) panes_.add(ends_[number], number);
  }
}

}  // namespace thalweg
