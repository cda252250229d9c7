// A load of a state whose stores have one entry a key: files' changes on their way to StateKeys.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exec/state/state_keys.h"
#include "state/state_files.h"

namespace thalweg {

// Keeps in memory what there is room for, and puts the rest into the cold tier as it comes. Used by one
// thread.
class KeyLoader {
 public:
  // ends[i] = the end of keys[i], whose value is values[i]; StateKeys::kNever as they are passed.
  using EndsOf = std::function<void(std::span<const std::string_view> keys,
                                    std::span<const std::string_view> values, std::span<int64_t> ends)>;
  // All outlive it. `value`: what each key has, where it is always the same; then the files' values are not
  // kept.
  KeyLoader(StateKeys& keys, KeyedValues& values, EndsOf endsOf, std::string_view value = {})
      : keys_(keys), values_(values), endsOf_(std::move(endsOf)), value_(value) {}

  void clear();
  void apply(const StateChange& change);
  // After the last change: the keys in memory get their values.
  void finish();

 private:
  struct Block {
    std::vector<std::string_view> keys, values;
    std::vector<int64_t> ends;
  };
  Block blockOf(std::span<const uint32_t> numbers) const;
  void dropCold(std::string_view key);
  void spill();

  StateKeys& keys_;
  KeyedValues& values_;
  EndsOf endsOf_;
  std::string_view value_;
  std::vector<std::string> loaded_;  // by key
  int64_t bytes_ = 0;
};

}  // namespace thalweg
