// Any bytes as patterns of LIKE and of regular expressions, over any bytes as text: an answer or an Error in
// bounded time; matches lie inside the text.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "common/error.h"
#include "functions/string/like.h"
#include "functions/string/regex.h"

using namespace thalweg;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t newline = input.find('\n');
  const std::string_view pattern = input.substr(0, newline);
  const std::string_view text =
      newline == std::string_view::npos ? std::string_view() : input.substr(newline + 1);
  for (const bool ignoreCase : {false, true}) {
    try {
      LikePattern::compile(pattern, '\\', ignoreCase).matches(text);
    } catch (const Error&) {
    }
  }
  try {
    const Regex regex(pattern, "rlike");
    std::vector<Regex::Group> groups;
    for (size_t from = 0; from <= text.size() && regex.find(text, from, &groups); from = groups[0].end + 1) {
      for (const Regex::Group& group : groups) {
        if (group.begin == std::string_view::npos) continue;
        if (group.begin > group.end || group.end > text.size()) std::abort();
      }
      if (groups[0].end < from) std::abort();
    }
  } catch (const Error&) {
  }
  return 0;
}
