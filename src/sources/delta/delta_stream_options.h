// The options of a Delta table read as a stream.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/options.h"
#include "sources/delta/exclude_pattern.h"

namespace thalweg {

// How a stream follows its table's schema.
struct SchemaTrackingOptions {
  static SchemaTrackingOptions of(const Options& options);

  // The folder of the schema log, as given (schemaTrackingLocation, or schemaLocation); none: it is not
  // followed.
  std::optional<std::string> location;
  std::optional<std::string> trackingId;  // streamingSourceTrackingId: part of the log's name
  // Which changes are let through (allowSourceColumn…): "always", or the version of one.
  std::optional<std::string> allowRename;
  std::optional<std::string> allowDrop;
  std::optional<std::string> allowTypeChange;
};

struct DeltaStreamOptions {
  // Throws Error DELTA_ILLEGAL_OPTION, DELTA_STARTING_VERSION_AND_TIMESTAMP_BOTH_SET,
  // DELTA_REGEX_OPT_SYNTAX_ERROR.
  static DeltaStreamOptions parse(const Options& options);

  std::optional<int64_t> startingVersion;
  bool startLatest = false;
  std::optional<std::string> startingTimestamp;
  bool readChangeFeed = false;
  bool ignoreDeletes = false;
  bool ignoreChanges = false;  // or the old ignoreFileDeletion
  bool skipChangeCommits = false;
  bool failOnDataLoss = true;
  // The rows that are there at the start are one batch, whatever the limits: none of them is late for a
  // watermark that others of them moved.
  bool withEventTimeOrder = false;
  // What one batch takes; files are unlimited where only bytes are limited.
  int64_t maxFilesPerTrigger = 1000;
  int64_t maxBytesPerTrigger = INT64_MAX;
  std::shared_ptr<const ExcludePattern> exclude;  // null: none

  SchemaTrackingOptions schemaTracking;

  bool allowsChanges() const { return ignoreChanges || skipChangeCommits; }
  bool allowsDeletes() const { return allowsChanges() || ignoreDeletes; }
  bool hasStart() const { return startingVersion || startLatest || startingTimestamp; }
};

// The option readChangeFeed (or its old name readChangeData). Throws Error DELTA_ILLEGAL_OPTION.
bool readsChangeFeed(const Options& options);

// "100", "10k", "1g", "5 mb": a positive number of bytes as Spark's settings have it; nothing for other text.
std::optional<int64_t> parseByteSize(std::string_view text);

}  // namespace thalweg
