// Which files a stream has taken already: 24 bytes a file, whatever its name's length.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace thalweg {

// Files are known by a 128-bit hash of their URI, or of its last part (`nameOnly`). One thread.
class SeenFiles {
 public:
  SeenFiles(int64_t maxAgeMs, bool nameOnly) : maxAgeMs_(maxAgeMs), nameOnly_(nameOnly) {}

  void add(std::string_view uri, int64_t timestampMs);
  // Neither seen nor older than what purge has forgotten.
  bool isNew(std::string_view uri, int64_t timestampMs) const;
  // Forgets files that are more than the maximum age older than the newest one ever added; from now on such
  // files are not new.
  void purge();
  size_t size() const { return count_; }

 private:
  struct Slot {
    uint64_t high = 0;  // high and low both 0: empty
    uint64_t low = 0;
    int64_t timestampMs = 0;
  };
  Slot keyOf(std::string_view uri) const;
  size_t find(const Slot& key) const;
  void insert(const Slot& slot);
  void rebuild(size_t capacity, int64_t oldestMs);

  int64_t maxAgeMs_;
  bool nameOnly_;
  std::vector<Slot> slots_;
  size_t count_ = 0;
  int64_t newestMs_ = 0;
  int64_t oldestMs_ = INT64_MAX;
  int64_t purgedBelowMs_ = 0;
};

}  // namespace thalweg
