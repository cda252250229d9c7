// Whether a stream may go on after a change of the schema that it follows: columns that were renamed, dropped
// or widened go on only where the user said so.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "sources/delta/delta_stream_options.h"
#include "sources/delta/streamed_metadata.h"

namespace thalweg {

// By the options allowSourceColumnRename, …Drop and …TypeChange ("always", or the version), and the settings
// spark.databricks.delta.streaming.<option> ("always") and <option>.ckpt_<hash of the source's folder>
// (either). Throws Error DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION for changes that
// are not let through, DELTA_SCHEMA_CHANGED_WITH_VERSION for types that were not widened but replaced.
void checkSchemaChange(const StreamedMetadata& older, const StreamedMetadata& newer,
                       const SchemaTrackingOptions& options,
                       const std::map<std::string, std::string>& settings, std::string_view sourceFolder);

// Java's hashCode of a text, by which settings name a checkpoint. Invalid UTF-8 gives some number.
int32_t javaHash(std::string_view text);

}  // namespace thalweg
