// The change data feed of one commit: which rows of which files were inserted, deleted or updated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "delta/actions/actions.h"
#include "delta/changes/commit_changes.h"

namespace thalweg::delta {

// The rows of a file that a commit changed.
struct ChangedFile {
  AddFile file;  // its deletion vector's rows are none of them
  // "insert" or "delete"; nothing where the file has the column _change_type.
  std::optional<std::string> changeType = {};
  // Where given, the rows are those of this vector that the other one, where given, does not have; the file
  // then has no vector of its own.
  std::optional<DeletionVector> rowsOf = {};
  std::optional<DeletionVector> butNotOf = {};
  int64_t version = 0;
  int64_t timestampMs = 0;
};

// The commit's change files where it has them, else its adds as inserts and its removes as deletes, a path
// that has both by the difference of the two vectors. `files` are some or all of the commit's.
// Throws Error DELTA_REMOVE_FILE_CDC_MISSING_EXTENDED_METADATA where a remove of a partitioned table does not
// say which partition it was of (no partition values, or an empty map).
std::vector<ChangedFile> changedFiles(const CommitChanges& commit, const std::vector<FileAction>& files,
                                      int64_t timestampMs, bool partitioned);

}  // namespace thalweg::delta
