#include "exec/state/expiry_panes.h"

#include <algorithm>

#include "types/text/calendar.h"

namespace thalweg {
namespace {

// Of a pane's node in its map, about.
constexpr int64_t kPaneBytes = 80;

}  // namespace

void ExpiryPanes::add(int64_t timeMicros, uint32_t number) {
  const int64_t second = floorDivide(timeMicros, kMicrosPerSecond);
  if (!lastPane_ || lastSecond_ != second) {
    lastPane_ = &panes_[second];
    lastSecond_ = second;
  }
  lastPane_->push_back({static_cast<int32_t>(timeMicros - second * kMicrosPerSecond), number});
  ++numEntries_;
}

std::vector<uint32_t> ExpiryPanes::take(int64_t watermarkMicros) {
  std::vector<uint32_t> taken;
  const int64_t second = floorDivide(watermarkMicros, kMicrosPerSecond);
  const auto partly = static_cast<int32_t>(watermarkMicros - second * kMicrosPerSecond);
  auto pane = panes_.begin();
  for (; pane != panes_.end() && pane->first < second; ++pane) {
    for (const Entry& entry : pane->second) taken.push_back(entry.number);
  }
  if (pane != panes_.begin()) {
    panes_.erase(panes_.begin(), pane);
    lastPane_ = nullptr;
  }
  if (pane != panes_.end() && pane->first == second) {
    Pane& entries = pane->second;
    const auto passed = std::stable_partition(entries.begin(), entries.end(), [&](const Entry& entry) {
      return entry.microsOfSecond > partly;
    });
    for (auto entry = passed; entry != entries.end(); ++entry) taken.push_back(entry->number);
    entries.erase(passed, entries.end());
  }
  numEntries_ -= static_cast<int64_t>(taken.size());
  return taken;
}

void ExpiryPanes::clear() {
  panes_.clear();
  lastPane_ = nullptr;
  numEntries_ = 0;
}

int64_t ExpiryPanes::memoryBytes() const {
  return static_cast<int64_t>(panes_.size()) * kPaneBytes +
         numEntries_ * static_cast<int64_t>(sizeof(Entry)) * 3 / 2;  // vectors grow ahead
}

}  // namespace thalweg
