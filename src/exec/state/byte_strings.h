// Strings of bytes in the making, in one piece of memory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg {

// Each is written to its end before the next one. Used by one thread.
class ByteStrings {
 public:
  // Keeps the memory for the next ones.
  void clear() {
    bytes_.clear();
    ends_.clear();
  }
  // Where the next one is appended; end() ends it.
  std::string* next() { return &bytes_; }
  void end() { ends_.push_back(bytes_.size()); }
  void add(std::string_view bytes) {
    bytes_.append(bytes);
    end();
  }
  size_t size() const { return ends_.size(); }
  // Valid until more is appended.
  std::string_view operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }

 private:
  std::string bytes_;
  std::vector<size_t> ends_;
};

}  // namespace thalweg
