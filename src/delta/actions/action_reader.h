// Reads actions from JSON: the lines of a commit, of a V2 checkpoint's top level, and single objects.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "delta/actions/actions.h"

namespace thalweg::delta {

// A sidecar file named by a V2 checkpoint's top level: only in checkpoints, so no Action of its own.
struct Sidecar {
  std::string path;  // a file name below _sidecars, or a path
  int64_t sizeInBytes = 0;
  int64_t modificationTime = 0;  // ms
};

// What a V2 checkpoint says of itself; of its tags, "sidecarNumActions" is how many files its sidecars have.
struct CheckpointMetadata {
  int64_t version = 0;
  std::map<std::string, std::string> tags;
};

// Called for each action in the file's order.
using ActionSink = std::function<void(Action&&)>;
using SidecarSink = std::function<void(Sidecar&&)>;
using CheckpointMetadataSink = std::function<void(CheckpointMetadata&&)>;

// Reads newline-delimited actions. Blank lines, CR and objects laid out over several lines are accepted;
// unknown actions and unknown fields are ignored; required fields that are missing, wrong types, and text
// that is not JSON throw Error DELTA_STATE_RECOVER_ERROR naming `source` and the line. Nothing is delivered
// of a line that fails. `sidecars` and `checkpoints` may be empty: such lines are then ignored, as commits
// must not hold them. Nesting is bounded by 128 levels.
void readActions(std::string_view text, std::string_view source, const ActionSink& sink,
                 const SidecarSink& sidecars = {}, const CheckpointMetadataSink& checkpoints = {});

std::vector<Action> readActions(std::string_view text, std::string_view source);

// The fields of a commit's commitInfo that the engine itself uses.
struct CommitInfoFields {
  std::optional<int64_t> timestamp;          // ms
  std::optional<int64_t> inCommitTimestamp;  // ms
  std::optional<std::string> txnId;
  std::optional<bool> isBlindAppend;
};
// Fields of a wrong type count as absent: commitInfo is free JSON.
CommitInfoFields readCommitInfoFields(const CommitInfo& info);

}  // namespace thalweg::delta
