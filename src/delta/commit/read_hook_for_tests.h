// For tests: something happens to a store while one of its files is about to be read.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "storage/fault_file_system.h"

namespace thalweg::delta {

// Does something when a file is first read whose path ends so.
class ReadHook final : public FaultFileSystem {
 public:
  using FaultFileSystem::FaultFileSystem;
  std::string ending;
  std::function<void()> action;

  std::string readAll(const std::string& path) override {
    meet(path);
    return FaultFileSystem::readAll(path);
  }
  std::shared_ptr<arrow::io::RandomAccessFile> openInput(const std::string& path) override {
    meet(path);
    return FaultFileSystem::openInput(path);
  }

 private:
  void meet(const std::string& path) {
    if (action && path.ends_with(ending)) std::exchange(action, nullptr)();
  }
};

}  // namespace thalweg::delta
