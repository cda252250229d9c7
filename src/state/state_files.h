// The contract of state at rest: versions of one store as files, in the formats of Spark's two providers.
//
// Version V is the state after batch V − 1; version 0 is empty and has no file. A version is a snapshot, or
// an older snapshot (or nothing) and the change files since. Keys and values are binary rows
// (columnar/binary_row.h) whatever the provider.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "state/state_store_id.h"
#include "storage/file_system.h"
#include "types/data_type.h"

namespace thalweg {

struct StateChange {
  enum class Kind { Put, Remove };
  Kind kind = Kind::Put;
  std::string_view key;
  std::string_view value;  // empty for Remove
};

// Takes what a version holds. Views hold during the call.
class StateReceiver {
 public:
  virtual ~StateReceiver() = default;
  // Forget everything received so far: a snapshot turned out to be unusable and an older one follows.
  virtual void restart() = 0;
  virtual void apply(const StateChange& change) = 0;
};

// Calls its argument with each entry, ascending by the key's bytes (unsigned), each key once.
using StateEntries =
    std::function<void(const std::function<void(std::string_view key, std::string_view value)>& put)>;

struct StateLoad {
  int64_t snapshotVersion = 0;  // 0: none, from the first change file on
  int64_t numChangeFiles = 0;
  int64_t numUnusableSnapshots = 0;  // newer ones that were passed over; each is in the log with its reason
  int64_t snapshotBytes = 0;         // of keys and values in the snapshot
  int64_t changeBytes = 0;           // and in the change files after it
};

struct StateVersions {
  int64_t latest = 0;          // of any file; 0: none
  int64_t latestSnapshot = 0;  // 0: none
};

// What the checkpoint says about a store; the same for all partitions.
struct StateFormat {
  SchemaPtr keySchema;
  // Columns of the key that the store is scanned by (session windows); only the RocksDB provider lays keys
  // out by them.
  int numColsPrefixKey = 0;
  // spark.sql.streaming.stateStore.compression.codec: "lz4" or "zstd"; others throw Error
  // UNSUPPORTED_FEATURE.
  std::string codec = "lz4";
  // spark.sql.streaming.stateStore.rocksdb.mergeOperatorVersion.
  int mergeOperatorVersion = 2;
};

// Files of one store. One owner writes (the checkpoint's lock is the caller's); its calls come one at a time,
// from any thread. Others may load meanwhile. Files that cannot be read or used throw Error
// CANNOT_LOAD_STATE_STORE.* naming the file; other failures of the store's disk throw Error STORAGE_FAILURE.
class StateFiles {
 public:
  virtual ~StateFiles() = default;

  // Hands the state of `version` to `receiver`: the newest usable snapshot not after it, then the changes
  // since. A snapshot that is damaged, incomplete, unreadable or gone is passed over when older files
  // suffice; where none do, and the folder has changed since it was listed, all begins anew.
  virtual StateLoad load(int64_t version, StateReceiver& receiver) = 0;

  // As load, but from the snapshot of `snapshotVersion` (1 to `version`) and the changes since, whatever else
  // there is: for those who hold what one snapshot leads to against another. No other snapshot stands in for
  // one that cannot be used; CANNOT_READ_MISSING_SNAPSHOT_FILE names those that are there.
  virtual StateLoad loadFromSnapshot(int64_t snapshotVersion, int64_t version, StateReceiver& receiver) = 0;

  // Hands the changes that lead from version − 1 to `version` (1 or more) to `receiver`, in the order of
  // their file; CANNOT_READ_STREAMING_STATE_FILE where there is none.
  virtual void loadChanges(int64_t version, StateReceiver& receiver) = 0;

  // Writes the file that leads from version − 1 to `version`: durable, whole or not at all, replacing all
  // that an earlier attempt at the batch left of the version (its snapshot too) before this object loaded.
  // Every version needs its file, without changes too. Fault points stateChanges.before and .after.
  virtual void writeChanges(int64_t version, const std::vector<StateChange>& changes) = 0;

  // Writes all entries of `version` as a snapshot; as durable, and as replaceable, as writeChanges. An empty
  // state is a valid snapshot. Fault points stateSnapshot.before and .after.
  virtual void writeSnapshot(int64_t version, const StateEntries& entries) = 0;

  virtual StateVersions latestVersions() = 0;

  // Removes files that no version from `version` − minVersionsToRetain on needs, oldest first. `version` is
  // the newest of this run: files ahead of it are of a life of the query that was set back. Files that killed
  // writers left unfinished go too, a day later.
  virtual void clean(int64_t version, int64_t minVersionsToRetain) = 0;
};

enum class StateProvider { HdfsBacked, RocksDb };

// By the class name that the offset log has (spark.sql.streaming.stateStore.providerClass). Throws Error
// UNSUPPORTED_FEATURE for others.
StateProvider stateProviderOf(std::string_view className);
std::string_view stateProviderClassName(StateProvider provider);

// `temporaryFolder` is a folder of local disk for unpacked snapshots (RocksDB); each use makes and removes
// folders of its own.
std::unique_ptr<StateFiles> openStateFiles(StateProvider provider, std::shared_ptr<FileSystem> fileSystem,
                                           StateStoreId id, StateFormat format, std::string temporaryFolder);

}  // namespace thalweg
