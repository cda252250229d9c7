// An operator's state is brought to any version from any other, and goes on from there.
#include "exec/state/operator_state.h"

#include <cstring>

#include <gtest/gtest.h>

#include "state/test_support.h"
#include "types/ddl.h"

namespace thalweg {
namespace {

// Rows as they are in the files.
class RowsPartition final : public StorePartition {
 public:
  void restart() override { rows.clear(); }
  void apply(const StateChange& change) override {
    if (change.kind == StateChange::Kind::Put)
      rows.insert_or_assign(std::string(change.key), std::string(change.value));
    else
      rows.erase(std::string(change.key));
  }
  void finishLoad() override { changed.clear(); }
  std::vector<StateChange> changes() override { return putsOf(changed); }
  void changesWritten() override { changed.clear(); }
  StateEntries entries() const override { return entriesOf(rows); }
  int64_t numKeys() const override { return static_cast<int64_t>(rows.size()); }
  int64_t memoryBytes() const override { return 0; }
  void put(const std::string& key, const std::string& value) { rows[key] = changed[key] = value; }

  StateMap rows, changed;
};

// Two stores a partition, as a join has them.
class RowsNode final : public StatefulNode {
 public:
  RowsNode() : StatefulNode(parseSchemaDdl("k BIGINT"), {}, 0) {}
  std::unique_ptr<RunningOperator> start(Execution&) const override { return nullptr; }
  std::string describe() const override { return "Rows"; }
  std::string operatorName() const override { return "rows"; }
  std::vector<StoreDefinition> stores() const override {
    return {{"left", schema(), schema()}, {"right", schema(), schema()}};
  }
  std::vector<std::unique_ptr<StorePartition>> makePartition() const override {
    std::vector<std::unique_ptr<StorePartition>> partitions;
    for (int i = 0; i < 2; ++i) partitions.push_back(std::make_unique<RowsPartition>());
    return partitions;
  }
  std::string fingerprint() const override { return ""; }
  bool wantsAnotherBatch(int64_t, int64_t) const override { return false; }
};

std::string rowOf(int64_t value) {
  std::string bytes(16, '\0');
  std::memcpy(bytes.data() + 8, &value, 8);
  return bytes;
}

class OperatorStateTest : public ::testing::TestWithParam<StateProvider> {
 protected:
  StateContext context() {
    StateContext context;
    context.fileSystem = makeLocalFileSystem();
    context.stateFolder = folder_.path() + "/state";
    context.configuration["spark.sql.streaming.stateStore.providerClass"] =
        stateProviderClassName(GetParam());
    context.numPartitions = 2;
    context.temporaryFolder = folder_.path() + "/tmp";
    context.pool = &pool_;
    return context;
  }
  std::vector<StateMap> rowsOf(OperatorState& state) {
    std::vector<StateMap> all;
    for (int partition = 0; partition < 2; ++partition) {
      for (size_t store = 0; store < 2; ++store)
        all.push_back(static_cast<RowsPartition&>(state.partition(store, partition)).rows);
    }
    return all;
  }

  TestFolder folder_;
  TaskPool pool_{2};
  RowsNode node_;
};

TEST_P(OperatorStateTest, IsLoadedInAnyOrderAndGoesOnFromThere) {
  OperatorState state(node_, context());
  std::map<int64_t, std::vector<StateMap>> byVersion;
  const auto change = [&](int64_t version) {
    for (int partition = 0; partition < 2; ++partition) {
      for (size_t store = 0; store < 2; ++store) {
        auto& rows = static_cast<RowsPartition&>(state.partition(store, partition));
        rows.put(rowOf(version), rowOf(version * 10 + static_cast<int64_t>(store)));
        rows.put(rowOf(0), rowOf(version));
      }
    }
  };
  state.load(0);
  for (int64_t version = 1; version <= 3; ++version) {
    change(version);
    state.commit();
    byVersion[version] = rowsOf(state);
  }
  for (const int64_t version : {3, 2, 3, 1, 3, 2, 3}) {
    state.load(version);
    EXPECT_EQ(rowsOf(state), byVersion[version]) << version;
    EXPECT_EQ(state.numKeys(), 4 * (version + 1)) << version;
  }
  change(4);
  state.commit();
  byVersion[4] = rowsOf(state);
  OperatorState other(node_, context());
  for (const int64_t version : {2, 4, 3}) {
    other.load(version);
    EXPECT_EQ(rowsOf(other), byVersion[version]) << version;
  }
}

// What was changed and not committed goes with the load of the version that the batch began with.
TEST_P(OperatorStateTest, ALoadForgetsWhatWasNotCommitted) {
  OperatorState state(node_, context());
  state.load(0);
  static_cast<RowsPartition&>(state.partition(0, 0)).put(rowOf(1), rowOf(1));
  state.commit();
  const std::vector<StateMap> committed = rowsOf(state);
  static_cast<RowsPartition&>(state.partition(1, 1)).put(rowOf(2), rowOf(2));
  state.load(0);
  state.load(1);
  EXPECT_EQ(rowsOf(state), committed);
  state.commit();
  state.load(0);
  state.load(2);
  EXPECT_EQ(rowsOf(state), committed);
}

INSTANTIATE_TEST_SUITE_P(Providers, OperatorStateTest,
                         ::testing::Values(StateProvider::HdfsBacked, StateProvider::RocksDb),
                         [](const auto& info) {
                           return info.param == StateProvider::RocksDb ? "RocksDb" : "Hdfs";
                         });

}  // namespace
}  // namespace thalweg
