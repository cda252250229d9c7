#include "common/json_text.h"

#include <nlohmann/json.hpp>

namespace thalweg {
namespace {

struct TooDeep {};

template <typename Document>
Document parseBounded(std::string_view text, int maxDepth) {
  using Event = typename Document::parse_event_t;
  // An array or object begins, with `depth` others around it.
  const auto bound = [maxDepth](int depth, Event event, Document&) {
    if (depth >= maxDepth && (event == Event::array_start || event == Event::object_start)) throw TooDeep();
    return true;
  };
  try {
    return Document::parse(text, bound, /*allow_exceptions=*/false);
  } catch (const TooDeep&) {
    return Document(Document::value_t::discarded);
  }
}

template <typename Document>
std::string compactText(const Document& document) {
  return document.dump(-1, ' ', false, Document::error_handler_t::replace);
}

}  // namespace

nlohmann::json parseJson(std::string_view text, int maxDepth) {
  return parseBounded<nlohmann::json>(text, maxDepth);
}

nlohmann::ordered_json parseOrderedJson(std::string_view text, int maxDepth) {
  return parseBounded<nlohmann::ordered_json>(text, maxDepth);
}

std::string toJsonText(const nlohmann::json& document) {
  return compactText(document);
}
std::string toJsonText(const nlohmann::ordered_json& document) {
  return compactText(document);
}

std::string quotedJson(std::string_view text) {
  return compactText(nlohmann::json(text));
}

}  // namespace thalweg
