#include "delta/checkpoint/top_level.h"

#include "delta/actions/action_writer.h"

namespace thalweg::delta {
namespace {

// {"checkpointMetadata":{"version":3,"tags":{…}}}
std::string lineOf(const CheckpointMetadata& metadata) {
  std::string line =
      "{\"checkpointMetadata\":{\"version\":" + std::to_string(metadata.version) + ",\"tags\":{";
  bool first = true;
  for (const auto& [key, value] : metadata.tags) {
    if (!first) line += ',';
    first = false;
    appendJsonString(line, key);
    line += ':';
    appendJsonString(line, value);
  }
  return line + "}}}";
}

}  // namespace

std::vector<Action> nonFileActions(const Snapshot& snapshot) {
  std::vector<Action> actions;
  for (const auto& [appId, transaction] : snapshot.transactions()) actions.emplace_back(transaction);
  for (const auto& [name, domain] : snapshot.domainMetadata()) actions.emplace_back(domain);
  // Last, for every table has them: a top level in lines that is cut off lacks them, whatever else it has.
  actions.emplace_back(snapshot.protocol());
  actions.emplace_back(snapshot.metadata());
  return actions;
}

void TopLevel::write(FileSystem& fileSystem, const std::string& path,
                     const CheckpointColumns& columns) const {
  if (path.ends_with(".json")) {
    std::string text = lineOf(metadata) + "\n";
    for (const Sidecar& sidecar : sidecars) text += "{\"sidecar\":" + toSidecarJson(sidecar) + "}\n";
    text += toCommitText(actions);
    fileSystem.writeAtomically(path, text);
    return;
  }
  CheckpointFile file(fileSystem, path, columns, CheckpointContent::TopLevel,
                      CheckpointFile::Publication::AtClose);
  file.write(metadata);
  for (const Sidecar& sidecar : sidecars) file.write(sidecar);
  for (const Action& action : actions) file.write(action);
  file.close();
}

std::vector<std::string> TopLevel::nonFileLines() const {
  std::vector<std::string> lines;
  for (const Action& action : actions) lines.push_back(toJsonLine(action));
  lines.push_back(lineOf(metadata));
  return lines;
}

}  // namespace thalweg::delta
