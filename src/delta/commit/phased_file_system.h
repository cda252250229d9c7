// For tests: where an operation on a Delta table touches what others may change.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/fault_file_system.h"

namespace thalweg::delta {

// The phases of an operation, as its store sees them. It begins in Snapshot, with nothing read.
enum class Phase {
  Snapshot,    // looks for the newest version (again, after a commit)
  ReadFiles,   // reads data files
  WriteFiles,  // writes data files, change files, deletion vectors
  Put,         // puts a commit
  Conflicts,   // has lost a race and reads who was first
  PostCommit,  // checksum, checkpoint and their like
  List,        // lists the table's folder
  Remove,      // deletes files
};

// One operation's view of a store. `onPhase` is called before the call that begins a phase, and before every
// put of a commit; `onCommit` after each commit that was put. Files of `old` seem to be thirty days old. Used
// by one thread.
class PhasedFileSystem final : public FaultFileSystem {
 public:
  PhasedFileSystem(std::shared_ptr<FileSystem> store, std::shared_ptr<const std::set<std::string>> old)
      : FaultFileSystem(std::move(store)), old_(std::move(old)) {}

  std::function<void(Phase)> onPhase;
  std::function<void()> onCommit;
  bool everyFile = false;  // each data file that is opened is a phase of its own

  std::optional<FileInfo> stat(const std::string& path) override {
    const bool settled = phase_ == Phase::PostCommit || phase_ == Phase::List || phase_ == Phase::Remove;
    if (settled && isCommit(path)) enter(Phase::Snapshot);
    auto info = FaultFileSystem::stat(path);
    if (info) age(*info);
    return info;
  }
  std::vector<FileInfo> list(const std::string& directory) override {
    enter(Phase::List);
    auto entries = FaultFileSystem::list(directory);
    for (FileInfo& entry : entries) age(entry);
    return entries;
  }
  std::vector<FileInfo> listFrom(const std::string& directory, std::string_view firstName) override {
    auto entries = FaultFileSystem::listFrom(directory, firstName);
    for (FileInfo& entry : entries) age(entry);
    return entries;
  }
  std::string readAll(const std::string& path) override {
    if (phase_ == Phase::Put && isCommit(path)) enter(Phase::Conflicts);
    return FaultFileSystem::readAll(path);
  }
  std::shared_ptr<arrow::io::RandomAccessFile> openInput(const std::string& path) override {
    if (!isLog(path)) enter(Phase::ReadFiles, everyFile);
    return FaultFileSystem::openInput(path);
  }
  std::shared_ptr<arrow::io::OutputStream> openOutput(const std::string& path) override {
    enter(Phase::WriteFiles);
    return FaultFileSystem::openOutput(path);
  }
  void writeAtomically(const std::string& path, std::string_view contents) override {
    enter(Phase::PostCommit);
    FaultFileSystem::writeAtomically(path, contents);
  }
  PutOutcome putIfAbsent(const std::string& path, std::string_view contents,
                         const std::function<void()>& temporaryWritten) override {
    enter(isCommit(path) ? Phase::Put : Phase::PostCommit, isCommit(path));
    const PutOutcome outcome = FaultFileSystem::putIfAbsent(path, contents, temporaryWritten);
    if (isCommit(path) && outcome == PutOutcome::Done && onCommit) onCommit();
    return outcome;
  }
  void remove(const std::string& path) override {
    enter(Phase::Remove);
    FaultFileSystem::remove(path);
  }

 private:
  static bool isLog(const std::string& path) { return path.find("/_delta_log/") != std::string::npos; }
  static bool isCommit(const std::string& path) { return isLog(path) && path.ends_with(".json"); }

  void enter(Phase phase, bool again = false) {
    if (phase == phase_ && !again) return;
    phase_ = phase;
    if (onPhase) onPhase(phase);
  }
  void age(FileInfo& info) const {
    constexpr int64_t kMonthMs = 30LL * 24 * 3600 * 1000;
    if (old_ && old_->contains(info.path)) info.modificationTimeMs -= kMonthMs;
  }

  std::shared_ptr<const std::set<std::string>> old_;
  Phase phase_ = Phase::Snapshot;
};

}  // namespace thalweg::delta
