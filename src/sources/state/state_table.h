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

// format("statestore"), a split a partition. The options batchId (the newest committed one unless given),
// operatorId (0) and storeName ("default") say which state, the one after the batch; it is shown as
//   key struct, value struct, partition_id int.
// joinSide (left, right): the rows of a side of a join of two streams, under their keys.
// snapshotStartBatchId and snapshotPartitionId: of one partition, from that batch's snapshot and the changes
// since.
// readChangeFeed, changeStartBatchId and changeEndBatchId (the newest committed one unless given): what these
// batches changed in the store, in order, as
//   batch_id long, change_type string (update, delete), key, value (null where deleted), partition_id.
// Throws Spark's STDS_* conditions where options are wrong or the checkpoint does not have it, and Error
// UNSUPPORTED_FEATURE for options of operators that are not built (stateVarName, readRegisteredTimers,
// flattenCollectionTypes) and stores with column families. Reading throws as state/state_files.h does;
// snapshots are unpacked below `temporaryFolder`, of local disk.
std::shared_ptr<Table> openStateTable(const ReadDefinition& read, const FileSystemRegistry& files,
                                      const LoggedConfiguration& configuration, std::string temporaryFolder);

// format("state-metadata"): a row for each store of each operator.
std::shared_ptr<Table> openStateMetadataTable(const ReadDefinition& read, const FileSystemRegistry& files);

}  // namespace thalweg
