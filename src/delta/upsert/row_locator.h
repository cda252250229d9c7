// Which rows of a table have given keys: a cache over its data files that can be thrown away at any time.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "delta/actions/actions.h"
#include "delta/modify/located_rows.h"
#include "delta/scan/deletion_vector.h"
#include "delta/scan/table_layout.h"
#include "delta/snapshot/snapshot.h"
#include "delta/upsert/changed_keys.h"
#include "delta/upsert/key_hasher.h"
#include "delta/upsert/key_index.h"

namespace thalweg::delta {

// Data files never change, so what is known of one holds for good: whatever others commit, only files that
// were not met before are read, and of them the key columns alone. Which files are live, and which of their
// rows, comes from the snapshot at every call. Used by one thread.
class RowLocator {
 public:
  // Indexes of files beyond `maxIndexBytes` are dropped, the least recently used first, and built again when
  // they are needed.
  explicit RowLocator(int64_t maxIndexBytes = int64_t{256} << 20) : maxIndexBytes_(maxIndexBytes) {}

  // The live rows of `snapshot` that have one of the keys, file by file. Reads the key columns of files that
  // may hold some by `keys.mayBeIn` and have no index, a row at 17 bytes. `layout` is of the snapshot's table
  // (it may have columns that the snapshot lacks), `keyColumns` are indexes into its schema; they, `leaves`
  // and `hasher` are the same at each call. Throws as DataFileReader.
  std::vector<LocatedRows> locate(const Snapshot& snapshot, const TableLayoutPtr& layout,
                                  const std::vector<int>& keyColumns, const std::vector<KeyLeaf>& leaves,
                                  const KeyHasher& hasher, const ChangedKeys& keys);

  // A file's index from elsewhere: from its rows as they were written.
  void adopt(const std::string& logPath, std::shared_ptr<const KeyIndex> index);

  int64_t indexBytes() const { return indexBytes_; }
  int64_t numFilesRead() const { return numFilesRead_; }

 private:
  struct Entry {
    std::vector<ValueBounds> bounds;  // one a leaf; empty until the file is met in a snapshot
    std::shared_ptr<const KeyIndex> index;
    std::list<std::string_view>::iterator use;  // in uses_; only with an index
    std::string vectorId;                       // of the vector below
    std::shared_ptr<const DeletedRows> vector;
    uint64_t lastSeen = 0;  // the call of locate that met it as live
  };
  struct PathHash {
    using is_transparent = void;
    size_t operator()(std::string_view path) const { return std::hash<std::string_view>()(path); }
  };
  using Entries = std::unordered_map<std::string, Entry, PathHash, std::equal_to<>>;

  std::vector<AddFile> candidates(const Snapshot& snapshot, const std::vector<KeyLeaf>& leaves,
                                  const ChangedKeys& keys);
  std::shared_ptr<const KeyIndex> indexOf(const AddFile& file, const TableLayoutPtr& layout,
                                          const std::vector<int>& keyColumns, const KeyHasher& hasher);
  std::shared_ptr<const DeletedRows> vectorOf(const AddFile& file, const TableLayout& layout);
  void keepIndex(Entries::iterator entry, std::shared_ptr<const KeyIndex> index);
  void dropIndex(Entry& entry);
  void forgetRemovedFiles(int64_t numLive);

  int64_t maxIndexBytes_;
  int64_t indexBytes_ = 0;
  int64_t numFilesRead_ = 0;
  uint64_t calls_ = 0;
  Entries entries_;                   // by path, as the log has it
  std::list<std::string_view> uses_;  // keys of entries with an index, the last used in front
};

}  // namespace thalweg::delta
