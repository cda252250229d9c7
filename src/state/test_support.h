// What the tests of this folder share: state in memory, folders that go away, the fixtures that Spark wrote.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "common/uuid.h"
#include "state/state_files.h"

namespace thalweg {

using StateMap = std::map<std::string, std::string>;

class CollectState : public StateReceiver {
 public:
  void restart() override {
    entries.clear();
    ++numRestarts;
  }
  void apply(const StateChange& change) override {
    if (change.kind == StateChange::Kind::Put)
      entries.insert_or_assign(std::string(change.key), std::string(change.value));
    else
      entries.erase(std::string(change.key));
  }
  StateMap entries;
  int numRestarts = 0;
};

inline StateMap loadState(StateFiles& files, int64_t version, StateLoad* loaded = nullptr) {
  CollectState collect;
  const StateLoad load = files.load(version, collect);
  if (loaded != nullptr) *loaded = load;
  return collect.entries;
}

inline StateEntries entriesOf(const StateMap& map) {
  return [&map](const std::function<void(std::string_view, std::string_view)>& put) {
    for (const auto& [key, value] : map) put(key, value);
  };
}

inline std::vector<StateChange> putsOf(const StateMap& map) {
  std::vector<StateChange> changes;
  for (const auto& [key, value] : map) changes.push_back({StateChange::Kind::Put, key, value});
  return changes;
}

class TestFolder {
 public:
  TestFolder() { std::filesystem::create_directories(path_); }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_ = std::filesystem::temp_directory_path() / ("state_test_" + randomUuid());
};

inline std::filesystem::path sparkCheckpoints() {
  return std::filesystem::path(THALWEG_SHARED_DIR) / "testdata" / "spark-checkpoints";
}

}  // namespace thalweg
