// A Delta table as a stream: its rows as they are, then what its commits add; or its change data feed.
#pragma once

#include <memory>

#include "connector/registry.h"
#include "connector/stream_source.h"
#include "delta/scan/table_layout.h"
#include "delta/snapshot/delta_log.h"

namespace thalweg {

// The schema as load() shows it: the table's, or the one that the stream's schema log has come to. Throws
// Error DELTA_SCHEMA_NOT_SET where there is no table, DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS where the path or
// the options name one version, DELTA_READ_SOURCE_SCHEMA_CONFLICT for a user's schema that is not the
// table's, and as loadedSchema.
StreamSchema deltaStreamSchema(delta::DeltaLog& log, const ReadDefinition& read,
                               const delta::AddressResolver& resolve);

// Offsets are DeltaSourceOffset's. A batch takes maxFilesPerTrigger files (1000) and stops after
// maxBytesPerTrigger; the feed's commits that hold change files or deletion vectors are never parted. Polling
// costs two stats; memory is a batch's files, and eight bytes a file of the first snapshot until it is read.
// `resolve` gives the schema log its place.
// Throws Error as DeltaStreamOptions::parse, StreamGuard and SchemaTracking.
std::unique_ptr<StreamSource> openDeltaStream(std::shared_ptr<delta::DeltaLog> log,
                                              const ReadDefinition& read, const StreamSourceContext& context,
                                              const delta::AddressResolver& resolve);

}  // namespace thalweg
