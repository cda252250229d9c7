// Which protocol a table gets: when it is made, and as its metadata changes.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "delta/actions/actions.h"

namespace thalweg::delta {

// Properties that ask for features or versions and are not kept: "delta.feature.<name>" = "supported".
inline constexpr std::string_view kFeaturePrefix = "delta.feature.";
inline constexpr std::string_view kMinReaderVersion = "delta.minReaderVersion";
inline constexpr std::string_view kMinWriterVersion = "delta.minWriterVersion";

// Takes such properties out of the configuration; the features that they ask for, and those that these need.
// Throws Error DELTA_UNSUPPORTED_FEATURES_IN_CONFIG, DELTA_UNSUPPORTED_FEATURE_STATUS,
// DELTA_INVALID_PROTOCOL_VERSION.
std::set<std::string> takeFeatureRequests(Metadata* metadata, std::string_view table);

// The protocol of a new table with this schema and configuration, as Spark chooses it: the features that they
// switch on and `wanted` ones, as legacy versions where those mean exactly the same, (1,2) at least. Throws
// as checkWritable for what we cannot create.
Protocol protocolForNewTable(const Metadata& metadata, std::string_view table,
                             const std::set<std::string>& wanted = {});

// What a table's protocol becomes under changed metadata: its own where it has all features already. Throws
// Error DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT for a type of columns that needs a feature which is neither
// there nor wanted, and as checkWritable.
Protocol upgradedProtocol(const Protocol& current, const Metadata& metadata, std::string_view table,
                          const std::set<std::string>& wanted = {});

// A table's protocol without a feature and with others: the lowest that means the rest.
Protocol protocolWithout(const Protocol& current, std::string_view feature,
                         const std::set<std::string>& added = {});

}  // namespace thalweg::delta
