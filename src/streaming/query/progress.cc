#include "streaming/query/progress.h"

#include <cmath>

#include <date/date.h>
#include <nlohmann/json.hpp>

#include "common/json_text.h"
#include "common/secret.h"

namespace thalweg {
namespace {

using Json = nlohmann::ordered_json;

// Rounded half up to one decimal; nothing for what is no number.
void setRate(Json* object, const char* name, int64_t rows, std::optional<double> seconds) {
  const double rate = seconds ? static_cast<double>(rows) / *seconds : 0.0;
  if (!std::isfinite(rate)) return;
  (*object)[name] = std::floor(rate * 10 + 0.5) / 10;
}

Json offsetJson(const std::optional<std::string>& offset) {
  if (!offset) return nullptr;
  Json parsed = parseOrderedJson(*offset);
  return parsed.is_discarded() ? Json(*offset) : parsed;
}

Json stateJson(const StateOperatorProgress& state) {
  Json json;
  json["operatorName"] = state.operatorName;
  json["numRowsTotal"] = state.numRowsTotal;
  json["numRowsUpdated"] = state.numRowsUpdated;
  json["allUpdatesTimeMs"] = state.allUpdatesTimeMs;
  json["numRowsRemoved"] = state.numRowsRemoved;
  json["allRemovalsTimeMs"] = state.allRemovalsTimeMs;
  json["commitTimeMs"] = state.commitTimeMs;
  json["memoryUsedBytes"] = state.memoryUsedBytes;
  json["numRowsDroppedByWatermark"] = state.numRowsDroppedByWatermark;
  json["numShufflePartitions"] = state.numShufflePartitions;
  json["numStateStoreInstances"] = state.numStateStoreInstances;
  if (!state.customMetrics.empty()) json["customMetrics"] = state.customMetrics;
  return json;
}

}  // namespace

std::string isoMillis(int64_t epochMs) {
  const date::sys_time<std::chrono::milliseconds> time{std::chrono::milliseconds(epochMs)};
  return date::format("%FT%TZ", time);
}

int64_t QueryProgress::numInputRows() const {
  int64_t total = 0;
  for (const SourceProgress& source : sources) total += source.numInputRows;
  return total;
}

std::string QueryProgress::toJson() const {
  Json json;
  json["id"] = id;
  json["runId"] = runId;
  json["name"] = name ? Json(*name) : Json(nullptr);
  json["timestamp"] = isoMillis(timestampMs);
  json["batchId"] = batchId;
  json["batchDuration"] = batchDurationMs;
  json["numInputRows"] = numInputRows();
  setRate(&json, "inputRowsPerSecond", numInputRows(), inputSeconds);
  setRate(&json, "processedRowsPerSecond", numInputRows(), processingSeconds);
  json["durationMs"] = durationMs;
  if (!eventTime.empty()) json["eventTime"] = eventTime;
  json["stateOperators"] = Json::array();
  for (const StateOperatorProgress& state : stateOperators) json["stateOperators"].push_back(stateJson(state));
  json["sources"] = Json::array();
  for (const SourceProgress& source : sources) {
    Json one;
    one["description"] = source.description;
    one["startOffset"] = offsetJson(source.startOffset);
    one["endOffset"] = offsetJson(source.endOffset);
    one["latestOffset"] = offsetJson(source.latestOffset);
    one["numInputRows"] = source.numInputRows;
    setRate(&one, "inputRowsPerSecond", source.numInputRows, inputSeconds);
    setRate(&one, "processedRowsPerSecond", source.numInputRows, processingSeconds);
    if (!source.metrics.empty()) one["metrics"] = source.metrics;
    json["sources"].push_back(std::move(one));
  }
  json["sink"] = {{"description", sinkDescription}, {"numOutputRows", numOutputRows}};
  for (const auto& [name, row] : observedMetrics) json["observedMetrics"][name] = parseOrderedJson(row);
  return maskSecrets(toJsonText(json));
}

}  // namespace thalweg
