// One commit as a reader of changes sees it: the files that changed rows, and what else a stream must know.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "delta/actions/actions.h"
#include "storage/file_system.h"

namespace thalweg::delta {

using FileAction = std::variant<AddFile, RemoveFile, AddCdcFile>;

struct CommitChanges {
  int64_t version = 0;
  // In the commit's order: adds and removes with dataChange, and change files. Statistics are left out.
  std::vector<FileAction> files;
  std::optional<Metadata> metadata;
  std::optional<Protocol> protocol;
  // "UPDATE (Map(predicate -> [...]))", as Delta names a commit in errors; empty where it does not say.
  std::string operation;
  // A MERGE that says it changed no row: its adds and removes are none of the feed's.
  bool knownToChangeNothing = false;
  std::optional<int64_t> inCommitTimestampMs;
  int64_t fileTimeMs = 0;  // the commit file's modification time
  int64_t sizeBytes = 0;   // of the commit file

  bool hasAdds() const;
  bool hasChangeFiles() const;
  // The first remove that took rows away, or null.
  const RemoveFile* firstRemove() const;
  // Whether an add or remove of it has a deletion vector.
  bool hasDeletionVectors() const;
};

// Reads a commit; nothing where the log does not have it. Throws Error DELTA_STATE_RECOVER_ERROR where its
// text is none.
std::optional<CommitChanges> readCommitChanges(FileSystem& fileSystem, const std::string& logPath,
                                               int64_t version);

}  // namespace thalweg::delta
