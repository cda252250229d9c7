// What leaves a state by its event time, found without a look at what stays.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace thalweg {

// Numbers by event time in microseconds, kept second by second: taking those that a watermark has passed
// costs as many as leave, and those of one second more. Used by one thread.
class ExpiryPanes {
 public:
  // A number is added once, until it is taken.
  void add(int64_t timeMicros, uint32_t number);
  // The numbers whose time is not after the watermark. They are no longer there.
  std::vector<uint32_t> take(int64_t watermarkMicros);
  void clear();
  int64_t size() const { return numEntries_; }
  int64_t memoryBytes() const;

 private:
  struct Entry {
    int32_t microsOfSecond;
    uint32_t number;
  };
  using Pane = std::vector<Entry>;

  std::map<int64_t, Pane> panes_;  // by second
  // Times mostly come in order: the pane that was added to last.
  int64_t lastSecond_ = 0;
  Pane* lastPane_ = nullptr;
  int64_t numEntries_ = 0;
};

}  // namespace thalweg
