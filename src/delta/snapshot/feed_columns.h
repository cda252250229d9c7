// The columns of the change data feed beside the table's own.
#pragma once

#include <string_view>

namespace thalweg::delta {

// What became of a row: a column of change data files, and of the feed.
inline constexpr std::string_view kChangeTypeColumn = "_change_type";
// The commit that changed it: the feed's alone.
inline constexpr std::string_view kCommitVersionColumn = "_commit_version";
inline constexpr std::string_view kCommitTimestampColumn = "_commit_timestamp";

}  // namespace thalweg::delta
