// Batch writes into a Delta table: DataFrame.write.
#pragma once

#include <memory>
#include <string_view>

#include "connector/registry.h"
#include "sinks/delta/delta_write.h"

namespace thalweg {

// Starts a write; null where nothing is to be done (ignore on a table that exists, or txnAppId/txnVersion
// already there). Throws Error DELTA_PATH_EXISTS for ErrorIfExists on a table that exists, unsupported() for
// a dynamic overwrite of a table with partitions, and the errors of schema enforcement.
std::unique_ptr<DeltaWrite> beginDeltaWrite(std::shared_ptr<delta::DeltaLog> log, SaveMode mode,
                                            SchemaPtr schema, DeltaWriteOptions options,
                                            delta::CastFunction cast = {});

// Starts the making of a table with rows of `schema` (none need follow), or, with `creation.replace`, of one
// in the place of a table that is there. Throws Error DELTA_PATH_EXISTS where there is a table and it is not
// to be replaced.
std::unique_ptr<DeltaWrite> beginDeltaCreation(std::shared_ptr<delta::DeltaLog> log,
                                               const TableCreation& creation, SchemaPtr schema,
                                               DeltaWriteOptions options);

}  // namespace thalweg
