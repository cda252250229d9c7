// Folders of partitions, "date=2026-01-01", as Hive named them and everybody since.
#pragma once

#include <string_view>

namespace thalweg {

// In a value's place where there is none.
inline constexpr std::string_view kNullPartition = "__HIVE_DEFAULT_PARTITION__";

}  // namespace thalweg
