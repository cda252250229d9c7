#include "common/option_choice.h"

#include <algorithm>

namespace thalweg {

std::string_view firstGiven(const Options& options, std::initializer_list<std::string_view> names) {
  const auto given =
      std::find_if(names.begin(), names.end(), [&](std::string_view name) { return options.has(name); });
  return given == names.end() ? *(names.end() - 1) : *given;
}

}  // namespace thalweg
