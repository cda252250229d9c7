// Batch writes into a Delta table: DataFrame.write.
#pragma once

#include <memory>
#include <string_view>

#include "connector/registry.h"
#include "sinks/delta/delta_write.h"

namespace thalweg {

// Starts a write; null where nothing is to be done (ignore on a table that exists, or txnAppId/txnVersion
// already there). Throws Error DELTA_PATH_EXISTS for ErrorIfExists on a table that exists, Delta's errors for
// options that do not go together (DELTA_REPLACE_WHERE_WITH_DYNAMIC_PARTITION_OVERWRITE …), and those of
// schema enforcement.
std::unique_ptr<DeltaWrite> beginDeltaWrite(std::shared_ptr<delta::DeltaLog> log, SaveMode mode,
                                            SchemaPtr schema, DeltaWriteOptions options,
                                            DeltaWriteEngine engine = {});

// Starts the making of a table with rows of `schema` (none need follow), or, with `creation.replace`, of one
// in the place of a table that is there. Throws Error DELTA_PATH_EXISTS where there is a table and it is not
// to be replaced.
std::unique_ptr<DeltaWrite> beginDeltaCreation(std::shared_ptr<delta::DeltaLog> log,
                                               const TableCreation& creation, SchemaPtr schema,
                                               DeltaWriteOptions options, DeltaWriteEngine engine = {});

}  // namespace thalweg
