// Writes checkpoints whose state files are all ours, for tests/e2e/spark_reads_state_test.py to show to Spark's state reader:
// THALWEG_STATE_FOR_SPARK names the folder. What is written is what Spark's own fixtures hold, version by version.
#include <cstdlib>

#include <gtest/gtest.h>

#include "state/operator_metadata.h"
#include "state/state_schema.h"
#include "state/test_support.h"

namespace thalweg {
namespace {

namespace fs = std::filesystem;

struct Checkpoint {
  const char* fixture;
  StateProvider provider;
};

constexpr Checkpoint kCheckpoints[] = {{"windowed-hdfs", StateProvider::HdfsBacked},
                                       {"windowed-rocksdb", StateProvider::RocksDb},
                                       {"windowed-rocksdb-changelog", StateProvider::RocksDb},
                                       {"dedup-rocksdb", StateProvider::RocksDb},
                                       {"session-window-rocksdb", StateProvider::RocksDb},
                                       {"join-inner-hdfs", StateProvider::HdfsBacked},
                                       {"join-left-outer-rocksdb", StateProvider::RocksDb}};

// Which versions get a snapshot, and whether change files of versions with one stay.
enum class Layout { ChangesOnly, SnapshotsOnly, Mixed };

std::vector<StateChange> differences(const StateMap& before, const StateMap& after) {
  std::vector<StateChange> changes;
  for (const auto& [key, value] : after) {
    const auto found = before.find(key);
    if (found == before.end() || found->second != value) changes.push_back({StateChange::Kind::Put, key, value});
  }
  for (const auto& [key, value] : before) {
    if (!after.contains(key)) changes.push_back({StateChange::Kind::Remove, key, {}});
  }
  return changes;
}

class ForSpark : public ::testing::Test {
 protected:
  void rewriteStore(const Checkpoint& checkpoint, Layout layout, const StateStoreId& from, const StateStoreId& to, int numColsPrefixKey) {
    const StateSchema schema = *readStateSchema(*fileSystem_, from);
    writeStateSchema(*fileSystem_, to, schema);
    StateFormat format;
    format.keySchema = schema.key;
    format.numColsPrefixKey = numColsPrefixKey;
    const auto source = openStateFiles(checkpoint.provider, fileSystem_, from, format, temporary_.path());
    const auto target = openStateFiles(checkpoint.provider, fileSystem_, to, format, temporary_.path());
    StateMap before;
    const int64_t latest = source->latestVersions().latest;
    for (int64_t version = 1; version <= latest; ++version) {
      StateMap after = loadState(*source, version);
      // Spark's HDFS-backed provider writes a delta for each version, and reads one for each that has no snapshot.
      if (layout != Layout::SnapshotsOnly) target->writeChanges(version, differences(before, after));
      if (layout == Layout::SnapshotsOnly || (layout == Layout::Mixed && version % 3 == 0)) target->writeSnapshot(version, entriesOf(after));
      before = std::move(after);
    }
  }

  void rewrite(const Checkpoint& checkpoint, Layout layout, const fs::path& target) {
    const fs::path source = sparkCheckpoints() / checkpoint.fixture / "checkpoint";
    fs::create_directories(target);
    for (const char* name : {"metadata", "offsets", "commits", "sources"}) {
      fs::copy(source / name, target / name, fs::copy_options::recursive);
    }
    const std::string from = (source / "state").string(), to = (target / "state").string();
    const OperatorMetadata metadata = *readOperatorMetadata(*fileSystem_, from + "/0");
    writeOperatorMetadata(*fileSystem_, to + "/0", metadata);
    for (const StateStoreInfo& store : metadata.stores) {
      for (int32_t partition = 0; partition < store.numPartitions; ++partition) {
        rewriteStore(checkpoint, layout, {from, 0, partition, store.storeName}, {to, 0, partition, store.storeName}, store.numColsPrefixKey);
      }
    }
  }

  std::shared_ptr<FileSystem> fileSystem_ = makeLocalFileSystem();
  TestFolder temporary_;
};

TEST_F(ForSpark, WritesCheckpoints) {
  const char* folder = std::getenv("THALWEG_STATE_FOR_SPARK");
  if (folder == nullptr) GTEST_SKIP() << "only for tests/e2e/spark_reads_state_test.py";
  if (!fs::exists(sparkCheckpoints())) GTEST_SKIP() << "no shared test data";
  for (const Checkpoint& checkpoint : kCheckpoints) {
    for (const auto& [name, layout] : {std::pair("changes", Layout::ChangesOnly), {"snapshots", Layout::SnapshotsOnly}, {"mixed", Layout::Mixed}}) {
      rewrite(checkpoint, layout, fs::path(folder) / name / checkpoint.fixture);
    }
  }
}

}  // namespace
}  // namespace thalweg
