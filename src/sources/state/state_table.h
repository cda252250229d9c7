// A checkpoint's state as batch tables, as Spark's state reader shows it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "connector/registry.h"
#include "connector/table.h"

namespace thalweg {

// The settings that a checkpoint's offset log has for a batch; throws where the batch has none there.
using LoggedConfiguration =
    std::function<std::map<std::string, std::string>(const Location& checkpoint, int64_t batchId)>;

// format("statestore"): key struct, value struct, partition_id int; a split a partition. The options batchId
// (the newest committed one unless given), operatorId (0) and storeName ("default") say which state; those of
// Spark's that are not built (joinSide, snapshotStartBatchId, readChangeFeed, …) throw Error
// UNSUPPORTED_FEATURE. The version is the one after the batch. Throws Spark's STDS_* conditions where the
// checkpoint does not have it.
std::shared_ptr<Table> openStateTable(const ReadDefinition& read, const FileSystemRegistry& files,
                                      const LoggedConfiguration& configuration);

// format("state-metadata"): a row for each store of each operator.
std::shared_ptr<Table> openStateMetadataTable(const ReadDefinition& read, const FileSystemRegistry& files);

}  // namespace thalweg
