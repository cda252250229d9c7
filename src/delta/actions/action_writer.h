// Writes actions as the lines of a commit: compact JSON, keys in Spark's order, absent fields left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "delta/actions/action_reader.h"
#include "delta/actions/actions.h"

namespace thalweg::delta {

// Appends `text` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
void appendJsonString(std::string& out, std::string_view text);

// One action's line without the line's end: {"add":{…}}.
std::string toJsonLine(const Action& action);
// Only the object: {"path":…}.
void appendJson(std::string& out, const Metadata& metadata);
void appendJson(std::string& out, const Protocol& protocol);
void appendJson(std::string& out, const SetTransaction& transaction);
void appendJson(std::string& out, const DomainMetadata& domain);

// {"path":…,"sizeInBytes":…,"modificationTime":…}
std::string toSidecarJson(const Sidecar& sidecar);

// A commit file's whole text: a line an action, each ended by a newline.
std::string toCommitText(const std::vector<Action>& actions);

}  // namespace thalweg::delta
