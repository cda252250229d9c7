// A position in a Delta table's changes, in the form of Spark's offset log.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace thalweg {

// Files up to and including `index` of a version are behind it. A version done is the next one's beginning.
// While the initial snapshot is served, indexes count the snapshot's files by modification time and path;
// in a commit they count its adds that change data (in the change feed: all that the commit lists of it).
struct DeltaSourceOffset {
  static constexpr int64_t kBeforeFirst = -1;

  std::string tableId;
  int64_t version = 0;
  int64_t index = kBeforeFirst;
  bool isInitialSnapshot = false;

  // {"sourceVersion":1,"reservoirId":…,"reservoirVersion":…,"index":…,"isStartingVersion":…}: Delta's bytes.
  std::string toJson() const;
  // Throws Error DELTA_INVALID_SOURCE_OFFSET_FORMAT, DELTA_INVALID_SOURCE_VERSION,
  // DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION; unsupported() for positions within a change of schema that a
  // schema log follows.
  static DeltaSourceOffset parse(std::string_view json);

  bool isBefore(const DeltaSourceOffset& other) const {
    return version != other.version ? version < other.version : index < other.index;
  }
  bool operator==(const DeltaSourceOffset&) const = default;
};

}  // namespace thalweg
