// Names in folders of data: those of partitions, "date=2026-01-01", as Hive named them and everybody since,
// and those that readers pass over.
#pragma once

#include <string_view>

namespace thalweg {

// In a value's place where there is none.
inline constexpr std::string_view kNullPartition = "__HIVE_DEFAULT_PARTITION__";

// Whether readers of files pass over what is named so; "_p=1" is a partition.
constexpr bool isHiddenName(std::string_view name) {
  return name.starts_with('.') || (name.starts_with('_') && name.find('=') == std::string_view::npos);
}

}  // namespace thalweg
