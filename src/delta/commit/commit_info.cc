#include "delta/commit/commit_info.h"

#include "common/error.h"
#include "delta/actions/action_writer.h"

namespace thalweg::delta {
namespace {

constexpr std::string_view kEngineInfo = "Thalweg/0.1.0";

void appendKey(std::string& out, std::string_view name) {
  if (out.back() != '{') out += ',';
  appendJsonString(out, name);
  out += ':';
}

}  // namespace

std::string_view isolationLevelName(IsolationLevel level) {
  switch (level) {
    case IsolationLevel::Serializable:
      return "Serializable";
    case IsolationLevel::WriteSerializable:
      return "WriteSerializable";
    case IsolationLevel::SnapshotIsolation:
      return "SnapshotIsolation";
  }
  throw internalError("unknown isolation level");
}

std::string jsonText(std::string_view text) {
  std::string out;
  appendJsonString(out, text);
  return out;
}

CommitInfo makeCommitInfo(const Operation& operation, const CommitFacts& facts) {
  std::string json = "{";
  if (facts.inCommitTimestampMs)
    json += "\"inCommitTimestamp\":" + std::to_string(*facts.inCommitTimestampMs);
  appendKey(json, "timestamp");
  json += std::to_string(facts.timestampMs);
  appendKey(json, "operation");
  appendJsonString(json, operation.name);
  appendKey(json, "operationParameters");
  json += '{';
  for (const auto& [name, value] : operation.parameters) {
    appendKey(json, name);
    json += value;
  }
  json += '}';
  if (facts.readVersion) {
    appendKey(json, "readVersion");
    json += std::to_string(*facts.readVersion);
  }
  appendKey(json, "isolationLevel");
  appendJsonString(json, isolationLevelName(facts.isolationLevel));
  appendKey(json, "isBlindAppend");
  json += facts.isBlindAppend ? "true" : "false";
  appendKey(json, "operationMetrics");
  json += '{';
  for (const auto& [name, value] : operation.metrics) {
    appendKey(json, name);
    appendJsonString(json, std::to_string(value));
  }
  json += '}';
  if (!operation.tags.empty()) {
    appendKey(json, "tags");
    json += '{';
    for (const auto& [name, value] : operation.tags) {
      appendKey(json, name);
      appendJsonString(json, value);
    }
    json += '}';
  }
  if (operation.userMetadata) {
    appendKey(json, "userMetadata");
    appendJsonString(json, *operation.userMetadata);
  }
  appendKey(json, "engineInfo");
  appendJsonString(json, kEngineInfo);
  appendKey(json, "txnId");
  appendJsonString(json, facts.txnId);
  return CommitInfo{json + "}"};
}

}  // namespace thalweg::delta
