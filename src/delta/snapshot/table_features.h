// What a table asks of its readers and writers: protocol versions and named features, held against what we
// can do.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "delta/actions/actions.h"
#include "delta/snapshot/property_values.h"

namespace thalweg::delta {

// The version before which commits and checkpoints go together or not at all (feature checkpointProtection);
// 0: none.
int64_t checkpointProtectionVersion(const Protocol& protocol, const Metadata& metadata);

// The features that a protocol means: those it lists, and those that its legacy versions imply.
std::vector<std::string> readerFeatures(const Protocol& protocol);
std::vector<std::string> writerFeatures(const Protocol& protocol);
bool supportsFeature(const Protocol& protocol, std::string_view feature);

// Throws Error DELTA_UNSUPPORTED_FEATURES_FOR_READ naming the features that we cannot read (`table` names the
// table in the text), or DELTA_INVALID_PROTOCOL_VERSION for versions of the future and illegal pairs.
void checkReadable(const Protocol& protocol, std::string_view table);

// As checkReadable; and throws Error DELTA_UNSUPPORTED_FEATURES_FOR_WRITE naming the features that we cannot
// write, UNSUPPORTED_FEATURE.THALWEG naming a property that asks each commit for what we do not do: manifests
// of symbolic links, metadata of other formats.
void checkWritable(const Protocol& protocol, const Metadata& metadata, std::string_view table);

// Throws Error DELTA_CANNOT_MODIFY_APPEND_ONLY where the table's property says that rows stay.
void checkRemovesRows(const Metadata& metadata, std::string_view table);

// Whether we know what a feature of this name is, readable and writable or not; case counts not.
bool isKnownFeature(std::string_view name);

}  // namespace thalweg::delta
