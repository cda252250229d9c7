// Spark's default provider: V.delta files with the changes of a version, V.snapshot files with all entries.
#pragma once

#include "state/versioned_files.h"

namespace thalweg {

class HdfsStateFiles : public VersionedStateFiles {
 public:
  HdfsStateFiles(std::shared_ptr<FileSystem> fileSystem, StateStoreId id, StateFormat format);

 private:
  void readChanges(const std::string& path, StateReceiver& receiver) override;
  void readSnapshot(const std::string& path, StateReceiver& receiver) override;
  Error missingChanges(const std::string& path) const override;
  std::string encodeChanges(const std::vector<StateChange>& changes) override;
  std::string prepareSnapshot(const StateEntries& entries) override;
};

}  // namespace thalweg
