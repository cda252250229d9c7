// A micro-batch's progress report, with the fields and the JSON form of Spark's StreamingQueryProgress.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace thalweg {

struct SourceProgress {
  std::string description;
  std::optional<std::string> startOffset;   // JSON texts
  std::optional<std::string> endOffset;
  std::optional<std::string> latestOffset;
  int64_t numInputRows = 0;
  std::map<std::string, std::string> metrics;
};

// What a batch did to a stateful operator's state. Times in milliseconds, summed over tasks.
struct StateOperatorProgress {
  std::string operatorName;
  int64_t numRowsTotal = 0;
  int64_t numRowsUpdated = 0;
  int64_t allUpdatesTimeMs = 0;
  int64_t numRowsRemoved = 0;
  int64_t allRemovalsTimeMs = 0;
  int64_t commitTimeMs = 0;
  int64_t memoryUsedBytes = 0;
  int64_t numRowsDroppedByWatermark = 0;  // groups of late rows, as Spark counts
  int64_t numShufflePartitions = 0;
  int64_t numStateStoreInstances = 0;
  std::map<std::string, int64_t> customMetrics;
};

struct QueryProgress {
  std::string id, runId;
  std::optional<std::string> name;
  int64_t timestampMs = 0;  // the trigger's start
  int64_t batchId = 0;
  int64_t batchDurationMs = 0;
  std::map<std::string, int64_t> durationMs;
  // Seconds since the previous trigger's start; none for the first.
  std::optional<double> inputSeconds;
  double processingSeconds = 0;
  // Empty where the plan has no watermark.
  std::map<std::string, std::string> eventTime;
  std::vector<StateOperatorProgress> stateOperators;  // the one nearest the sink first
  std::vector<SourceProgress> sources;
  std::map<std::string, std::string> observedMetrics;  // JSON objects by name
  std::string sinkDescription;
  int64_t numOutputRows = -1;

  int64_t numInputRows() const;
  // Secrets masked; keys in Spark's order, empty maps left out.
  std::string toJson() const;
};

// "2026-01-15T10:00:01.123Z"
std::string isoMillis(int64_t epochMs);

}  // namespace thalweg
