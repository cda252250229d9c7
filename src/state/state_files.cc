#include "state/state_files.h"

#include "common/error.h"
#include "state/hdfs_state_files.h"
#include "state/rocksdb_state_files.h"

namespace thalweg {

StateProvider stateProviderOf(std::string_view className) {
  for (const StateProvider provider : {StateProvider::HdfsBacked, StateProvider::RocksDb}) {
    if (className == stateProviderClassName(provider)) return provider;
  }
  throw unsupported("The state store provider " + std::string(className));
}

std::string_view stateProviderClassName(StateProvider provider) {
  return provider == StateProvider::HdfsBacked
             ? "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
             : "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider";
}

std::unique_ptr<StateFiles> openStateFiles(StateProvider provider, std::shared_ptr<FileSystem> fileSystem,
                                           StateStoreId id, StateFormat format, std::string temporaryFolder) {
  if (provider == StateProvider::HdfsBacked) {
    return std::make_unique<HdfsStateFiles>(std::move(fileSystem), std::move(id), std::move(format));
  }
  return std::make_unique<RocksDbStateFiles>(std::move(fileSystem), std::move(id), std::move(format),
                                             std::move(temporaryFolder));
}

}  // namespace thalweg
