#include "delta/files/wide_bounds.h"

#include <string_view>

#include <simdjson.h>

namespace thalweg::delta {
namespace {

// All members but the two as they stand: numbers must not pass through a double. Nothing where the text is no
// JSON object.
std::optional<std::string> otherMembers(const std::string& stats) {
  std::string out;
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  // The lazy parser below does not see all faults of what it passes over.
  if (parser.parse(stats).get(object)) return std::nullopt;
  simdjson::ondemand::parser lazy;
  const simdjson::padded_string padded(stats);
  simdjson::ondemand::document document;
  simdjson::ondemand::object members;
  if (lazy.iterate(padded).get(document) || document.get_object().get(members)) return std::nullopt;
  for (auto member : members) {
    std::string_view key;
    std::string_view value;
    if (member.escaped_key().get(key) || member.value().raw_json().get(value)) return std::nullopt;
    if (key == "numRecords" || key == "tightBounds") continue;
    out += ",\"";
    out += key;
    out += "\":";
    out += value;
  }
  return out;
}

}  // namespace

std::string withWideBounds(const std::optional<std::string>& stats, int64_t numRecords) {
  const std::optional<std::string> others = stats ? otherMembers(*stats) : std::nullopt;
  return "{\"numRecords\":" + std::to_string(numRecords) + ",\"tightBounds\":false" + others.value_or("") +
         "}";
}

}  // namespace thalweg::delta
