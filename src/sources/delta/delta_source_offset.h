// A position in a Delta table's changes, in the form of Spark's offset log.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace thalweg {

// Files up to and including `index` of a version are behind it. A version done is the next one's beginning.
// While the initial snapshot is served, indexes count the snapshot's files by modification time and path;
// in a commit they count its adds that change data (in the change feed: all that the commit lists of it).
// A commit that changes what a schema log follows has two places before its files: a batch ends at the first,
// and the next one, which is empty, at the second.
struct DeltaSourceOffset {
  static constexpr int64_t kBeforeFirst = -100;  // -1 in the log
  static constexpr int64_t kAtMetadataChange = -20;
  static constexpr int64_t kAfterMetadataChange = -19;

  std::string tableId;
  int64_t version = 0;
  int64_t index = kBeforeFirst;
  bool isInitialSnapshot = false;

  // {"sourceVersion":1,"reservoirId":…,"reservoirVersion":…,"index":…,"isStartingVersion":…}: Delta's bytes;
  // sourceVersion is 3 at a change of metadata.
  std::string toJson() const;
  // Throws Error DELTA_INVALID_SOURCE_OFFSET_FORMAT, DELTA_INVALID_SOURCE_VERSION,
  // DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION.
  static DeltaSourceOffset parse(std::string_view json);

  // The first file that is not behind it.
  int64_t nextFile() const { return std::max<int64_t>(index, -1) + 1; }
  bool isAtMetadataChange() const { return index == kAtMetadataChange || index == kAfterMetadataChange; }
  bool isBefore(const DeltaSourceOffset& other) const {
    return version != other.version ? version < other.version : index < other.index;
  }
  bool operator==(const DeltaSourceOffset&) const = default;
};

}  // namespace thalweg
