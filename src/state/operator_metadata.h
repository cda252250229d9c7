// What a stateful operator says about itself beside its state: <operator>/_metadata/metadata (version 1) or
// _metadata/v2/<batch> (version 2). Spark writes it at a query's first start, checks later starts against it,
// and needs it to read state as a table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/file_system.h"
#include "types/data_type.h"

namespace thalweg {

struct StateStoreInfo {
  std::string storeName;
  int numColsPrefixKey = 0;
  int numPartitions = 0;
  std::vector<std::string> schemaFilePaths = {};  // version 2 only
};

struct OperatorMetadata {
  int64_t operatorId = 0;
  std::string operatorName;  // "stateStoreSave", "dedupe", "symmetricHashJoin", …
  std::vector<StateStoreInfo> stores;
  std::string propertiesJson = {};  // version 2 only: the operator's own settings

  const StateStoreInfo* store(std::string_view name) const;
};

// Of the partitions that the metadata names, those that the operator has: an aggregation without keys and a limit keep all in
// the first one. `key` is the store's.
int numPartitionsUsed(const OperatorMetadata& metadata, const StateStoreInfo& store, const DataType& key);

// Foreign bytes: throws Error STATE_STORE_CHECKPOINT_CORRUPT naming `path`; a newer version says so.
OperatorMetadata parseOperatorMetadata(std::string_view text, const std::string& path);
// Version 1, as Spark 4 writes it for all but transformWithState.
std::string formatOperatorMetadata(const OperatorMetadata& metadata);

// Of the operator whose folder is `operatorFolder` ("<checkpoint>/state/0"); none where there is no file
// (Spark 3.5 wrote none). Of version 2 files, that of the newest batch.
std::optional<OperatorMetadata> readOperatorMetadata(FileSystem& fileSystem,
                                                     const std::string& operatorFolder);
// Writes the file unless it is there: an existing one is another start's, and stays.
void writeOperatorMetadata(FileSystem& fileSystem, const std::string& operatorFolder,
                           const OperatorMetadata& metadata);

}  // namespace thalweg
