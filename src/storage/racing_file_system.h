// For tests: what others do at the moments of a write.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "storage/fault_file_system.h"

namespace thalweg {

// Each function is called once, and may be set again: another writer acts in it, or faults begin. Used by one
// thread.
class RacingFileSystem final : public FaultFileSystem {
 public:
  using FaultFileSystem::FaultFileSystem;
  std::function<void()> onOpenOutput;  // before a file is begun
  std::function<void()> beforePut;     // of a .json file: a commit
  std::function<void()> afterPut;      // of any file

  std::shared_ptr<arrow::io::OutputStream> openOutput(const std::string& path) override {
    callOnce(onOpenOutput);
    return FaultFileSystem::openOutput(path);
  }

  PutOutcome putIfAbsent(const std::string& path, std::string_view contents,
                         const std::function<void()>& temporaryWritten) override {
    if (path.ends_with(".json")) callOnce(beforePut);
    const PutOutcome outcome = FaultFileSystem::putIfAbsent(path, contents, temporaryWritten);
    callOnce(afterPut);
    return outcome;
  }

 private:
  static void callOnce(std::function<void()>& function) {
    if (const auto now = std::exchange(function, nullptr)) now();
  }
};

}  // namespace thalweg
