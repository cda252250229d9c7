#define PCRE2_CODE_UNIT_WIDTH 8
#include "sources/delta/exclude_pattern.h"

#include <pcre2.h>

#include "common/error.h"

namespace thalweg {
namespace {

Error badPattern(const std::string& pattern, const std::string& why) {
  return Error("DELTA_REGEX_OPT_SYNTAX_ERROR",
               "The option excludeRegex is no pattern that can be used: " + why + " ('" + pattern + "').",
               {{"regExpOption", "excludeRegex"}});
}

struct FreeMatch {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

}  // namespace

struct ExcludePattern::Compiled {
  std::string text;
  pcre2_code* code = nullptr;
  ~Compiled() { pcre2_code_free(code); }
};

ExcludePattern::ExcludePattern(const std::string& pattern) : compiled_(std::make_unique<Compiled>()) {
  int error = 0;
  PCRE2_SIZE at = 0;
  compiled_->text = pattern;
  compiled_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                  PCRE2_UTF | PCRE2_MATCH_INVALID_UTF, &error, &at, nullptr);
  if (compiled_->code) return;
  PCRE2_UCHAR text[256] = {};
  pcre2_get_error_message(error, text, sizeof text);
  throw badPattern(pattern, reinterpret_cast<const char*>(text));
}

ExcludePattern::~ExcludePattern() = default;

bool ExcludePattern::matches(std::string_view path) const {
  const std::unique_ptr<pcre2_match_data, FreeMatch> data(
      pcre2_match_data_create_from_pattern(compiled_->code, nullptr));
  if (!data) throw std::bad_alloc();
  const int found = pcre2_match(compiled_->code, reinterpret_cast<PCRE2_SPTR>(path.data()), path.size(), 0, 0,
                                data.get(), nullptr);
  if (found < 0 && found != PCRE2_ERROR_NOMATCH)
    throw badPattern(compiled_->text, "it takes too many steps over " + std::string(path));
  return found >= 0;
}

}  // namespace thalweg
