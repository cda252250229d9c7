#include "functions/string/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "common/error.h"

namespace thalweg {
namespace {

// Ends runaway backtracking after some seconds instead of never.
constexpr uint32_t kMatchLimit = 20'000'000;

}  // namespace

struct Regex::Compiled {
  pcre2_code* code = nullptr;
  pcre2_match_data* match = nullptr;
  pcre2_match_context* context = nullptr;
  ~Compiled() {
    pcre2_match_data_free(match);
    pcre2_match_context_free(context);
    pcre2_code_free(code);
  }
};

Regex::Regex(std::string_view pattern, std::string_view function) : compiled_(std::make_unique<Compiled>()), function_(function) {
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_compile_context* options = pcre2_compile_context_create(nullptr);
  // Java's dot stops at all of Unicode's line ends.
  pcre2_set_newline(options, PCRE2_NEWLINE_ANY);
  compiled_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                  PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_DUPNAMES | PCRE2_ALLOW_EMPTY_CLASS, &error, &at, options);
  pcre2_compile_context_free(options);
  if (!compiled_->code) {
    PCRE2_UCHAR message[256];
    pcre2_get_error_message(error, message, sizeof(message));
    throw Error("INVALID_PARAMETER_VALUE.PATTERN",
                "The pattern '" + std::string(pattern) + "' of " + function_ + " is no regular expression: " +
                    reinterpret_cast<const char*>(message) + " at position " + std::to_string(at) + ".",
                {{"parameter", "`regexp`"}, {"functionName", "`" + function_ + "`"}, {"value", "'" + std::string(pattern) + "'"}});
  }
  pcre2_jit_compile(compiled_->code, PCRE2_JIT_COMPLETE);
  compiled_->match = pcre2_match_data_create_from_pattern(compiled_->code, nullptr);
  compiled_->context = pcre2_match_context_create(nullptr);
  pcre2_set_match_limit(compiled_->context, kMatchLimit);
  uint32_t groups = 0;
  pcre2_pattern_info(compiled_->code, PCRE2_INFO_CAPTURECOUNT, &groups);
  numGroups_ = static_cast<int>(groups);
}

Regex::~Regex() = default;

bool Regex::find(std::string_view text, size_t from, std::vector<Group>* groups) const {
  // An empty view may have no address.
  const char* bytes = text.data() ? text.data() : "";
  const int count = pcre2_match(compiled_->code, reinterpret_cast<PCRE2_SPTR>(bytes), text.size(), from, 0, compiled_->match, compiled_->context);
  if (count == PCRE2_ERROR_NOMATCH) return false;
  if (count < 0) {
    throw Error("REGEX_MATCH_LIMIT", "Matching the pattern of " + function_ + " takes too many steps; make it less ambiguous.",
                {{"functionName", "`" + function_ + "`"}});
  }
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(compiled_->match);
  groups->resize(static_cast<size_t>(numGroups_) + 1);
  for (size_t i = 0; i < groups->size(); ++i) {
    const bool taken = static_cast<int>(i) < count && ends[2 * i] != PCRE2_UNSET;
    (*groups)[i] = taken ? Group{ends[2 * i], ends[2 * i + 1]} : Group{std::string_view::npos, std::string_view::npos};
  }
  // \K may leave a match's end before its begin.
  if ((*groups)[0].end < (*groups)[0].begin) (*groups)[0].end = (*groups)[0].begin;
  return true;
}

int Regex::groupNumber(const std::string& name) const {
  const int number = pcre2_substring_number_from_name(compiled_->code, reinterpret_cast<PCRE2_SPTR>(name.c_str()));
  return number > 0 ? number : -1;
}

}  // namespace thalweg
