// Spark's RocksDB provider: V.changelog files with the changes of a version, V.zip and SSTs/ with snapshots.
// Stored keys and values begin with the version byte 0x00 of their encoding. A store that is scanned by the
// first columns of its key has keys in two parts: length of the first (4 bytes, little-endian), 0x00 and the
// row of the first columns, 0x00 and the row of the others.
#pragma once

#include <optional>

#include "columnar/binary_row_fields.h"
#include "state/versioned_files.h"

namespace thalweg {

class RocksDbStateFiles : public VersionedStateFiles {
 public:
  RocksDbStateFiles(std::shared_ptr<FileSystem> fileSystem, StateStoreId id, StateFormat format,
                    std::string temporaryFolder);

 private:
  void readChanges(const std::string& path, StateReceiver& receiver) override;
  void readSnapshot(const std::string& path, StateReceiver& receiver) override;
  Error missingChanges(const std::string& path) const override;
  std::string encodeChanges(const std::vector<StateChange>& changes) override;
  std::string prepareSnapshot(const StateEntries& entries) override;
  std::vector<std::string> sharedFilesOf(const std::vector<std::string>& removed,
                                         const std::vector<std::string>& retained) override;

  bool hasPrefix() const { return splitter_.has_value(); }
  std::string mergeDelimiter() const { return format().mergeOperatorVersion == 1 ? "," : ""; }
  // Stored bytes of a key into `out`.
  void storedKey(std::string_view key, std::string* out) const;
  // A stored change with the key and value of its rows; `scratch` may hold the key.
  StateChange plainChange(const StateChange& stored, std::string* scratch) const;

  std::optional<BinaryRowSplitter> splitter_;
  std::string temporaryFolder_;
};

}  // namespace thalweg
