// One add or remove as views into bytes that others keep: for those who pass many files on and keep none of
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "delta/actions/actions.h"

namespace thalweg::delta {

class CheckpointStatistics;

// Where the statistics of a file are that were not read with it: a row of what `source` has.
struct StatisticsPlace {
  const CheckpointStatistics* source = nullptr;
  uint32_t row = 0;
};

// The fields have the meaning of AddFile's and RemoveFile's; texts are valid as long as what they were taken
// from. Filled again and again, an object keeps the capacity of its lists. The dataChange flag is not among
// them, nor are a remove's stats and tags: no snapshot or checkpoint has them.
struct FileFields {
  bool isAdd = true;
  std::string_view path;
  std::optional<DeletionVector> deletionVector;
  bool hasPartitionValues = true;  // always, of an add
  std::vector<std::pair<std::string_view, std::optional<std::string_view>>>
      partitionValues;                       // by rising names
  std::optional<int64_t> size;               // always, of an add
  std::optional<int64_t> time;               // modificationTime of an add, deletionTimestamp of a remove; ms
  std::optional<bool> extendedFileMetadata;  // of a remove
  std::optional<int64_t> baseRowId;
  std::optional<int64_t> defaultRowCommitVersion;
  std::optional<std::string_view> clusteringProvider;  // of an add
  std::optional<std::string_view> stats;               // of an add
  // Of an add whose statistics were left where they are; `stats` is absent then. Alive as long as the texts.
  std::optional<StatisticsPlace> laterStats;
  std::vector<std::pair<std::string_view, std::string_view>> tags;  // of an add, by rising names

  // All that is optional back to absent, lists empty.
  void clear();
};

// Views of an action, which must outlive them.
FileFields fieldsOf(const AddFile& add);
FileFields fieldsOf(const RemoveFile& remove);
// Copies; dataChange is false. Of fields that isAdd says they are. Statistics that were left for later are
// not among them.
AddFile addOf(const FileFields& fields);
RemoveFile removeOf(const FileFields& fields);

}  // namespace thalweg::delta
