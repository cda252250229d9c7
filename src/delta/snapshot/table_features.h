// What a table asks of its readers and writers: protocol versions and named features, held against what we
// can do.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "delta/actions/actions.h"

namespace thalweg::delta {

// Properties that the library itself obeys; see the functions below for their defaults.
inline constexpr std::string_view kAppendOnly = "delta.appendOnly";
inline constexpr std::string_view kEnableChangeDataFeed = "delta.enableChangeDataFeed";
inline constexpr std::string_view kEnableDeletionVectors = "delta.enableDeletionVectors";
inline constexpr std::string_view kRowTracking = "delta.enableRowTracking";
inline constexpr std::string_view kRowTrackingSuspended = "delta.rowTrackingSuspended";
inline constexpr std::string_view kEnableInCommitTimestamps = "delta.enableInCommitTimestamps";

inline constexpr std::string_view kCheckpointPolicy = "delta.checkpointPolicy";
inline constexpr std::string_view kLogRetention = "delta.logRetentionDuration";
inline constexpr std::string_view kCheckpointProtection = "delta.requireCheckpointProtectionBeforeVersion";

// A property's text, or nullopt.
std::optional<std::string> tableProperty(const Metadata& metadata, std::string_view name);
// True for "true" in any case.
bool tableFlag(const Metadata& metadata, std::string_view name, bool fallback = false);
// delta.checkpointInterval, 10 unless set to a positive number.
int64_t checkpointInterval(const Metadata& metadata);
// delta.deletedFileRetentionDuration in ms, one week unless set to an interval ("interval 1 week", "2 days 12
// hours").
int64_t deletedFileRetentionMs(const Metadata& metadata);
// delta.logRetentionDuration in ms, 30 days unless set.
int64_t logRetentionMs(const Metadata& metadata);
// delta.dropFeatureTruncateHistory.retentionDuration in ms, 24 hours unless set.
int64_t truncateHistoryRetentionMs(const Metadata& metadata);
// The version before which commits and checkpoints go together or not at all (feature checkpointProtection);
// 0: none.
int64_t checkpointProtectionVersion(const Protocol& protocol, const Metadata& metadata);
// A text of number and unit pairs, with or without a leading "interval"; nullopt for months, years and other
// text.
std::optional<int64_t> parseRetentionMs(std::string_view text);

// The features that a protocol means: those it lists, and those that its legacy versions imply.
std::vector<std::string> readerFeatures(const Protocol& protocol);
std::vector<std::string> writerFeatures(const Protocol& protocol);
bool supportsFeature(const Protocol& protocol, std::string_view feature);

// Throws Error DELTA_UNSUPPORTED_FEATURES_FOR_READ naming the features that we cannot read (`table` names the
// table in the text), or DELTA_INVALID_PROTOCOL_VERSION for versions of the future and illegal pairs.
void checkReadable(const Protocol& protocol, std::string_view table);

// As checkReadable; and throws Error DELTA_UNSUPPORTED_FEATURES_FOR_WRITE naming the features that we cannot
// write.
void checkWritable(const Protocol& protocol, std::string_view table);

// Throws Error DELTA_CANNOT_MODIFY_APPEND_ONLY where the table's property says that rows stay.
void checkRemovesRows(const Metadata& metadata, std::string_view table);

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
// as checkWritable.
Protocol upgradedProtocol(const Protocol& current, const Metadata& metadata, std::string_view table,
                          const std::set<std::string>& wanted = {});

// A table's protocol without a feature and with others: the lowest that means the rest.
Protocol protocolWithout(const Protocol& current, std::string_view feature,
                         const std::set<std::string>& added = {});

// Whether we know what a feature of this name is, readable and writable or not; case counts not.
bool isKnownFeature(std::string_view name);

}  // namespace thalweg::delta
