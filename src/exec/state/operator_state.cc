#include "exec/state/operator_state.h"

#include <algorithm>
#include <chrono>

#include "common/error.h"
#include "common/logging.h"
#include "state/logged_state.h"

namespace thalweg {
namespace {

// Spark's least number of change files between two snapshots
// (spark.sql.streaming.stateStore.minDeltasForSnapshot).
constexpr int64_t kMinChangeFiles = 10;
// Beyond these a snapshot is written whatever it costs: they are removed with a later one only.
constexpr int64_t kMostChangeFiles = 2000;
// What opening a change file on a local disk costs a restart, in bytes of a snapshot that it reads in the same time.
constexpr int64_t kBytesAFile = 64 << 10;
// Changes that a restart reads beside a snapshot, at most, to bytes of the state: few snapshots, and a restart that
// takes three times as long as one from a snapshot alone.
constexpr int64_t kChangesToState = 2;

int64_t bytesOf(const std::vector<StateChange>& changes) {
  int64_t bytes = 0;
  for (const StateChange& change : changes)
    bytes += static_cast<int64_t>(change.key.size() + change.value.size());
  return bytes;
}

void collect(const PhysicalNode& plan, std::vector<const StatefulNode*>* found) {
  if (const auto* node = dynamic_cast<const StatefulNode*>(&plan)) found->push_back(node);
  for (const PhysicalPtr& child : plan.children()) collect(*child, found);
}

}  // namespace

struct OperatorState::Store {
  std::unique_ptr<ColdPartition> cold;
  std::unique_ptr<StorePartition> partition;
  std::unique_ptr<StateFiles> files;
  // Since the newest snapshot.
  int64_t changeFiles = 0;
  int64_t changeBytes = 0;
  int64_t snapshotBytes = 0;  // of keys and values in it
  // What this run has written, for the size of an entry.
  int64_t entries = 0, entryBytes = 0;
};

std::vector<const StatefulNode*> statefulNodes(const PhysicalNode& plan) {
  std::vector<const StatefulNode*> found;
  collect(plan, &found);
  std::sort(found.begin(), found.end(),
            [](const StatefulNode* a, const StatefulNode* b) { return a->operatorId() < b->operatorId(); });
  return found;
}

void StateMetrics::reset() {
  for (auto* metric :
       {&rowsUpdated, &rowsRemoved, &rowsDroppedByWatermark, &duplicatesDropped, &updatesMs, &removalsMs, &commitMs})
    *metric = 0;
}

OperatorState::OperatorState(const StatefulNode& node, const StateContext& context)
    : node_(node),
      context_(context),
      numPartitions_(node.numPartitionsUsed(context.numPartitions)),
      coldTier_(context.temporaryFolder) {
  const auto definitions = node.stores();
  StateRoom room;
  if (context.memoryBytes != INT64_MAX)
    room.bytes =
        context.memoryBytes / std::max<int64_t>(1, numPartitions_ * static_cast<int64_t>(definitions.size()));
  for (int partition = 0; partition < numPartitions_; ++partition) {
    auto stores = node.makePartition();
    THALWEG_ASSERT(stores.size() == definitions.size());
    for (size_t i = 0; i < definitions.size(); ++i) {
      const StoreDefinition& definition = definitions[i];
      const LoggedState logged =
          loggedState(context.configuration, definition.key, definition.numColsPrefixKey);
      provider_ = logged.provider;
      auto store = std::make_unique<Store>();
      store->cold = std::make_unique<ColdPartition>(coldTier_, static_cast<uint32_t>(stores_.size()));
      store->partition = std::move(stores[i]);
      store->partition->setRoom(store->cold.get(), room);
      store->files = openStateFiles(logged.provider, context.fileSystem,
                                    {context.stateFolder, node.operatorId(), partition, definition.name},
                                    logged.format, context.temporaryFolder);
      stores_.push_back(std::move(store));
    }
  }
}

OperatorState::~OperatorState() = default;

void OperatorState::forEachPartition(
    const std::function<void(std::span<const std::unique_ptr<Store>>)>& task) {
  const size_t count = stores_.size() / static_cast<size_t>(numPartitions_);
  context_.pool->runAll(numPartitions_, [&](int partition) {
    task(std::span(stores_).subspan(static_cast<size_t>(partition) * count, count));
  });
}

void OperatorState::forEachStore(const std::function<void(Store&)>& task) {
  forEachPartition([&](std::span<const std::unique_ptr<Store>> stores) {
    for (const auto& store : stores) task(*store);
  });
}

void OperatorState::load(int64_t version) {
  metrics_.reset();
  if (version == version_) return;
  version_ = -1;
  forEachPartition([&](std::span<const std::unique_ptr<Store>> stores) {
    for (const auto& store : stores) store->partition->restart();
    for (const auto& store : stores) {
      const StateLoad loaded = store->files->load(version, *store->partition);
      store->changeFiles = loaded.numChangeFiles;
      store->changeBytes = loaded.changeBytes;
      store->snapshotBytes = loaded.snapshotBytes;
    }
    for (const auto& store : stores) store->partition->finishLoad();
  });
  version_ = version;
}

StorePartition& OperatorState::partition(size_t store, int partition) {
  const size_t count = stores_.size() / static_cast<size_t>(numPartitions_);
  return *stores_.at(static_cast<size_t>(partition) * count + store)->partition;
}

void OperatorState::commit() {
  const auto started = std::chrono::steady_clock::now();
  const int64_t next = version_ + 1;
  version_ = -1;  // until all stores have it
  forEachStore([&](Store& store) {
    const std::vector<StateChange> changes = store.partition->changes();
    store.files->writeChanges(next, changes);
    ++store.changeFiles;
    const int64_t bytes = bytesOf(changes);
    store.changeBytes += bytes;
    store.entryBytes += bytes;
    store.entries += static_cast<int64_t>(changes.size());
    store.partition->changesWritten();
  });
  version_ = next;
  metrics_.commitMs =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - started)
          .count();
}

void OperatorState::writeSnapshot(Store& store) {
  int64_t bytes = 0;
  const StateEntries entries = store.partition->entries();
  store.files->writeSnapshot(version_,
                             [&](const std::function<void(std::string_view, std::string_view)>& put) {
                               entries([&](std::string_view key, std::string_view value) {
                                 bytes += static_cast<int64_t>(key.size() + value.size());
                                 put(key, value);
                               });
                             });
  store.changeFiles = 0;
  store.changeBytes = 0;
  store.snapshotBytes = bytes;
  store.files->clean(version_, context_.minVersionsToRetain);
}

// Do the changes of a partition's stores cost a restart enough for snapshots of them, which cost what they hold?
bool OperatorState::wantsSnapshot(std::span<const std::unique_ptr<Store>> stores) {
  const bool hasMany = std::ranges::any_of(stores, [](const auto& store) { return store->changeFiles >= kMostChangeFiles; });
  if (hasMany) return true;
  int64_t files = 0, changeBytes = 0, snapshotBytes = 0, keys = 0, entries = 0, entryBytes = 0;
  for (const auto& store : stores) {
    if (store->changeFiles < kMinChangeFiles) return false;
    files += store->changeFiles;
    changeBytes += store->changeBytes;
    snapshotBytes += store->snapshotBytes;
    keys += store->partition->numKeys();
    entries += store->entries;
    entryBytes += store->entryBytes;
  }
  // Since the last snapshot the state may have grown.
  const int64_t stateBytes = std::max(snapshotBytes, entries == 0 ? 0 : entryBytes / entries * keys);
  return changeBytes + files * kBytesAFile >= kChangesToState * stateBytes;
}

void OperatorState::maintain() {
  if (version_ < 0) return;
  forEachPartition([&](std::span<const std::unique_ptr<Store>> stores) {
    if (!wantsSnapshot(stores)) return;
    for (const auto& store : stores) writeSnapshot(*store);
  });
}

int64_t OperatorState::numKeys() const {
  int64_t total = 0;
  for (const auto& store : stores_) total += store->partition->numKeys();
  return total;
}

int64_t OperatorState::memoryBytes() const {
  int64_t total = 0;
  for (const auto& store : stores_) total += store->partition->memoryBytes();
  return total;
}

int64_t OperatorState::numStores() const {
  return static_cast<int64_t>(stores_.size());
}

}  // namespace thalweg
