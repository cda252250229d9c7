// Rewrites checkpoints so that their state files are all ours, for tests/e2e/spark_reads_state_test.py to
// show to Spark: THALWEG_STATE_REWRITE names a file with a line "source<tab>target<tab>layout" for each.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "state/logged_state.h"
#include "state/operator_metadata.h"
#include "state/state_schema.h"
#include "state/test_support.h"

namespace thalweg {
namespace {

namespace fs = std::filesystem;

std::vector<StateChange> differences(const StateMap& before, const StateMap& after) {
  std::vector<StateChange> changes;
  for (const auto& [key, value] : after) {
    const auto found = before.find(key);
    if (found == before.end() || found->second != value)
      changes.push_back({StateChange::Kind::Put, key, value});
  }
  for (const auto& [key, value] : before) {
    if (!after.contains(key)) changes.push_back({StateChange::Kind::Remove, key, {}});
  }
  return changes;
}

std::map<std::string, std::string> configurationOf(const fs::path& checkpoint) {
  std::ifstream file(checkpoint / "offsets" / "0");
  std::string line;
  std::getline(file, line);
  std::getline(file, line);
  return nlohmann::json::parse(line).at("conf");
}

// "changes": a change file for each version; "snapshots": a snapshot for each; "mixed": change files, and a
// snapshot for each third version.
class Rewrite {
 public:
  Rewrite(const fs::path& source, const fs::path& target, std::string layout)
      : source_(source), target_(target), layout_(std::move(layout)) {}

  void run() {
    fs::create_directories(target_);
    for (const char* name : {"metadata", "offsets", "commits", "sources"}) {
      fs::copy(source_ / name, target_ / name, fs::copy_options::recursive);
    }
    const OperatorMetadata metadata = *readOperatorMetadata(*fileSystem_, (source_ / "state/0").string());
    writeOperatorMetadata(*fileSystem_, (target_ / "state/0").string(), metadata);
    for (const StateStoreInfo& store : metadata.stores) {
      for (int32_t partition = 0; partition < store.numPartitions; ++partition)
        rewriteStore(store, partition);
    }
  }

 private:
  void rewriteStore(const StateStoreInfo& store, int32_t partition) {
    const StateStoreId from{(source_ / "state").string(), 0, partition, store.storeName};
    const StateStoreId to{(target_ / "state").string(), 0, partition, store.storeName};
    const StateSchema schema = *readStateSchema(*fileSystem_, from);
    writeStateSchema(*fileSystem_, to, schema);
    const LoggedState logged = loggedState(configurationOf(source_), schema.key, store.numColsPrefixKey);
    const auto source = openStateFiles(logged.provider, fileSystem_, from, logged.format, temporary_.path());
    const auto target = openStateFiles(logged.provider, fileSystem_, to, logged.format, temporary_.path());
    StateMap before;
    const int64_t latest = source->latestVersions().latest;
    for (int64_t version = 1; version <= latest; ++version) {
      StateMap after = loadState(*source, version);
      if (layout_ != "snapshots") target->writeChanges(version, differences(before, after));
      if (layout_ == "snapshots" || (layout_ == "mixed" && version % 3 == 0)) {
        target->writeSnapshot(version, entriesOf(after));
      }
      before = std::move(after);
    }
  }

  fs::path source_, target_;
  std::string layout_;
  std::shared_ptr<FileSystem> fileSystem_ = makeLocalFileSystem();
  TestFolder temporary_;
};

TEST(ForSpark, RewritesCheckpoints) {
  const char* list = std::getenv("THALWEG_STATE_REWRITE");
  if (list == nullptr) GTEST_SKIP() << "only for tests/e2e/spark_reads_state_test.py";
  std::ifstream file(list);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string source, target, layout;
    std::getline(fields, source, '\t');
    std::getline(fields, target, '\t');
    std::getline(fields, layout, '\t');
    Rewrite(source, target, layout).run();
  }
}

}  // namespace
}  // namespace thalweg
