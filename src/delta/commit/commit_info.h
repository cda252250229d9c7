// What a commit says of itself: the commitInfo action, as Spark writes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "delta/actions/actions.h"

namespace thalweg::delta {

// Serializable: as if commits ran in the order of their versions. WriteSerializable: in some order; who added
// files without reading the table may come before or after. SnapshotIsolation: for commits that change no
// data.
enum class IsolationLevel { Serializable, WriteSerializable, SnapshotIsolation };
std::string_view isolationLevelName(IsolationLevel level);

// The operation in words and numbers. Orders are kept.
struct Operation {
  std::string name;  // "WRITE", "STREAMING UPDATE", "CREATE TABLE"
  // Name → JSON text of its value: jsonText("Append"), jsonText("[]") (Spark's lists are texts), "true",
  // "null".
  std::vector<std::pair<std::string, std::string>> parameters = {};
  // Name → number; written as texts.
  std::vector<std::pair<std::string, int64_t>> metrics = {};
  std::optional<std::string> userMetadata = {};
  std::vector<std::pair<std::string, std::string>> tags = {};
};

// `text` as JSON, quotes included.
std::string jsonText(std::string_view text);

struct CommitFacts {
  std::optional<int64_t> inCommitTimestampMs;
  int64_t timestampMs = 0;
  std::optional<int64_t> readVersion;  // absent in version 0
  IsolationLevel isolationLevel = IsolationLevel::Serializable;
  bool isBlindAppend = false;
  std::string txnId;
};

// Keys in Spark's order: inCommitTimestamp, timestamp, operation, operationParameters, readVersion,
// isolationLevel, isBlindAppend, operationMetrics, tags, userMetadata, engineInfo, txnId.
CommitInfo makeCommitInfo(const Operation& operation, const CommitFacts& facts);

}  // namespace thalweg::delta
