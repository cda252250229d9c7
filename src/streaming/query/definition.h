// What a streaming query is started with.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "connector/registry.h"
#include "connector/sink.h"
#include "common/clock.h"
#include "common/task_pool.h"
#include "plan/logical/node.h"

namespace thalweg {

struct Trigger {
  enum class Kind { Default, ProcessingTime, AvailableNow, Once };
  Kind kind = Kind::Default;
  int64_t intervalMs = 0;  // ProcessingTime only, above 0
};

struct StreamingQueryDefinition {
  std::optional<std::string> name;
  LogicalPtr plan;  // analyzed, streaming
  std::unique_ptr<StreamSink> sink;
  OutputMode mode = OutputMode::Append;
  Trigger trigger;
  Location checkpoint;
  bool deleteCheckpointOnStop = false;  // a temporary checkpoint of a console or memory sink

  // Captured from the session at start.
  std::string timeZone = "UTC";
  std::map<std::string, std::string> loggedConfiguration;  // what goes into the offset log
  std::map<std::string, std::string> settings;             // what server and user set, for sources that have some of their own
  int64_t pollingDelayMs = 10;
  int64_t minBatchesToRetain = 100;
  int numRecentProgress = 100;
  bool noDataBatches = true;  // run batches without new data when state waits only for the watermark

  std::string temporaryFolder;  // of local disk, for snapshots of state and what has no room; empty: the system's
  int64_t stateMemoryBytes = INT64_MAX;  // that all operators' state may take in memory; the rest lies on local disk

  // The server's; they outlive every query.
  const FormatRegistry* formats = nullptr;
  TaskPool* pool = nullptr;
  const Clock* clock = &systemClock();
};

// The settings that Spark keeps in every offset log entry, with the values to write where the session set none. A restart
// on Spark takes a missing one for its oldest behaviour, so that the map must be complete.
const std::map<std::string, std::string>& loggedConfigurationDefaults();

}  // namespace thalweg
