// JSON documents of small files and messages: read within a depth, written whatever bytes their texts hold.
// (Records of data have their own readers and writers: formats/json.)
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace thalweg {

inline constexpr int kJsonDepth = 100;

// The document, or a discarded value (is_discarded()) where the text is no JSON or nested deeper than
// `maxDepth`: copying and comparing documents recurses, so none may be deep.
nlohmann::json parseJson(std::string_view text, int maxDepth = kJsonDepth);
nlohmann::ordered_json parseOrderedJson(std::string_view text, int maxDepth = kJsonDepth);

// Compact text. Bytes that are not UTF-8 become U+FFFD: nothing throws.
std::string toJsonText(const nlohmann::json& document);
std::string toJsonText(const nlohmann::ordered_json& document);

// A text as a JSON string, with its quotes; bytes as above.
std::string quotedJson(std::string_view text);

}  // namespace thalweg
