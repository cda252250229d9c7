// For tests of writers: what happens at the moment of a commit.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "storage/fault_file_system.h"

namespace thalweg {

// Lets another writer act, or faults begin, once, at the moment that a commit is put.
class RacingStore final : public FaultFileSystem {
 public:
  using FaultFileSystem::FaultFileSystem;
  std::function<void()> beforePut;

  PutOutcome putIfAbsent(const std::string& path, std::string_view contents,
                         const std::function<void()>& temporaryWritten) override {
    if (path.ends_with(".json")) {
      if (const auto race = std::exchange(beforePut, nullptr)) race();
    }
    return FaultFileSystem::putIfAbsent(path, contents, temporaryWritten);
  }
};

}  // namespace thalweg
