// Where a stream without a checkpoint begins, and how a restart before its first batch finds that again.
#pragma once

#include <optional>

#include "delta/snapshot/delta_log.h"
#include "sources/delta/delta_source_offset.h"
#include "sources/delta/delta_stream_options.h"
#include "storage/file_system.h"

namespace thalweg {

// The table as it is: all its rows first, unless the options name a version or a time from which on changes
// count. A version one past the newest waits for it. Throws Error DELTA_VERSION_NOT_FOUND,
// DELTA_TIMESTAMP_INVALID, DELTA_TIMESTAMP_GREATER_THAN_COMMIT.
DeltaSourceOffset resolveStart(delta::DeltaLog& log, const delta::Snapshot& opened,
                               const DeltaStreamOptions& options, const std::string& timeZone);

// sources/<i>/0: "v1" and an offset; Delta itself keeps nothing there and does not look. Nothing before a
// first start. Throws Error where the file holds no offset.
std::optional<DeltaSourceOffset> readStart(const Location& metadataFolder);
// Durable on return; where another start was first, that one is returned.
DeltaSourceOffset keepStart(const Location& metadataFolder, const DeltaSourceOffset& start);

}  // namespace thalweg
