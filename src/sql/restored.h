// A setting of the parser that holds for a part of the text.
#pragma once

#include <utility>

namespace thalweg::sql {

// Changes `place` until the end of the scope, also where an error ends it.
template <typename T>
class Restored {
 public:
  Restored(T& place, T value) : place_(place), saved_(std::exchange(place, std::move(value))) {}
  ~Restored() { place_ = std::move(saved_); }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

 private:
  T& place_;
  T saved_;
};

}  // namespace thalweg::sql
