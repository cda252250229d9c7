// What stateful operators keep between micro-batches, and how it comes from and goes to a checkpoint.
//
// A batch N loads version N of every store (at a query's start only: afterwards it is in memory), the
// operators change it while they run, and commit writes version N + 1. A failure ends the run of the query,
// and what is in memory goes with it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/task_pool.h"
#include "exec/operators/operator.h"
#include "exec/state/state_keys.h"
#include "state/cold_tier.h"
#include "state/state_files.h"
#include "state/state_schema.h"

namespace thalweg {

// One partition of a store in memory, in whatever form its operator works with. StateReceiver's calls load
// it. The stores of a partition may share their memory: they are used by one thread at a time, in the order
// of their definitions.
class StorePartition : public StateReceiver {
 public:
  // After the last apply of a load, of all stores of the partition.
  virtual void finishLoad() = 0;
  // What the batch changed, each key once. Views hold until changesWritten, with which the next batch's
  // changes begin.
  virtual std::vector<StateChange> changes() = 0;
  virtual void changesWritten() = 0;
  // All that is there, for a snapshot.
  virtual StateEntries entries() const = 0;
  // Of its keys, those that progress counts as rows of the state.
  virtual int64_t numKeys() const = 0;
  virtual int64_t memoryBytes() const = 0;
  // Keys that take more than the room in memory at the end of a batch go to `cold`, which outlives the
  // partition. Before the first load. Partitions that do not override it keep all in memory.
  virtual void setRoom(ColdPartition* cold, StateRoom room) {}
};

// A store of an operator, as the checkpoint describes it.
struct StoreDefinition {
  std::string name = kDefaultStateStore;
  SchemaPtr key;
  SchemaPtr value;
  int numColsPrefixKey = 0;
  ValueCheck valueCheck = ValueCheck::Types;
};

class OperatorState;
struct StateMetrics;

// A physical operator with state. Its run happens when it is started, whatever is read of its output, so that
// every partition of the state takes part in every batch.
class StatefulNode : public PhysicalNode {
 public:
  // Counted from the sink towards the sources.
  int operatorId() const { return operatorId_; }
  // Spark's name of the operator: "stateStoreSave".
  virtual std::string operatorName() const = 0;
  virtual std::vector<StoreDefinition> stores() const = 0;
  // An empty partition of each of the stores. The node outlives them.
  virtual std::vector<std::unique_ptr<StorePartition>> makePartition() const = 0;
  // Of `numPartitions`, those that may hold anything: the first ones.
  virtual int numPartitionsUsed(int numPartitions) const { return numPartitions; }
  // What Spark's schemas do not tell apart: state of one text must not be gone on with under another. Of an
  // aggregation, its functions' names.
  virtual std::string fingerprint() const = 0;
  // What Spark reports of this operator beside the metrics of all, by Spark's names.
  virtual std::map<std::string, int64_t> customMetrics(const StateMetrics& metrics) const { return {}; }
  // Does the batch that ran under the first watermark of the input leave work for one without new data under
  // the second?
  virtual bool wantsAnotherBatch(int64_t usedWatermarkMs, int64_t watermarkMs) const = 0;
  // The watermark of what comes out, given the input's: rows that come out later have later event times. None
  // where nothing can be said of them.
  virtual std::optional<int64_t> outputWatermark(int64_t inputMs) const { return inputMs; }

 protected:
  StatefulNode(SchemaPtr schema, std::vector<PhysicalPtr> children, int operatorId)
      : PhysicalNode(std::move(schema), std::move(children)), operatorId_(operatorId) {}

 private:
  int operatorId_;
};

// The stateful operators of a plan by number.
std::vector<const StatefulNode*> statefulNodes(const PhysicalNode& plan);

// Where state lies and in which form: what the query's offset log says.
struct StateContext {
  std::shared_ptr<FileSystem> fileSystem;
  std::string stateFolder;
  std::map<std::string, std::string> configuration;
  int numPartitions = 1;
  int64_t minVersionsToRetain = 100;
  std::string temporaryFolder;
  int64_t memoryBytes = INT64_MAX;  // of an operator; keys beyond it go to local disk
  TaskPool* pool = nullptr;
};

// What a batch did to an operator's state, for progress. Filled by its tasks.
struct StateMetrics {
  std::atomic<int64_t> rowsUpdated{0}, rowsRemoved{0}, rowsDroppedByWatermark{0};
  std::atomic<int64_t> duplicatesDropped{0};  // of a deduplication
  std::atomic<int64_t> updatesMs{0}, removalsMs{0}, commitMs{0};
  void reset();
};

// The state of one operator. Called on the query's thread, but partition() by the batch's tasks, one a
// partition.
class OperatorState {
 public:
  OperatorState(const StatefulNode& node, const StateContext& context);
  ~OperatorState();

  const StatefulNode& node() const { return node_; }
  StateProvider provider() const { return provider_; }
  // Brings the state to a version, unless it is there. Throws Error CANNOT_LOAD_STATE_STORE.*.
  void load(int64_t version);
  int numPartitions() const { return numPartitions_; }
  StorePartition& partition(size_t store, int partition);
  StateMetrics& metrics() { return metrics_; }
  const StateMetrics& metrics() const { return metrics_; }

  // Makes the changes durable as the next version.
  void commit();
  // After the batch is committed, before the next one: a snapshot where change files have grown long, and
  // files that it makes needless go.
  void maintain();

  int64_t numKeys() const;
  int64_t memoryBytes() const;
  int64_t numStores() const;

 private:
  struct Store;
  // The stores of a partition one after the other, partitions in parallel.
  void forEachStore(const std::function<void(Store&)>& task);
  void forEachPartition(const std::function<void(std::span<const std::unique_ptr<Store>>)>& task);
  static bool wantsSnapshot(std::span<const std::unique_ptr<Store>> stores);
  void writeSnapshot(Store& store);

  const StatefulNode& node_;
  StateContext context_;
  StateProvider provider_ = StateProvider::HdfsBacked;
  int numPartitions_;
  ColdTier coldTier_;
  std::vector<std::unique_ptr<Store>> stores_;  // a partition after the other, store by store
  int64_t version_ = -1;                        // −1: not loaded
  StateMetrics metrics_;
};

}  // namespace thalweg
