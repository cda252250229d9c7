// The file of a V2 checkpoint that readers find by its name: all actions but adds and removes, and its
// sidecars' names.
#pragma once

#include <string>
#include <vector>

#include "delta/actions/action_reader.h"
#include "delta/actions/actions.h"
#include "delta/checkpoint/checkpoint_columns.h"
#include "delta/checkpoint/checkpoint_file.h"
#include "delta/snapshot/snapshot.h"
#include "storage/file_system.h"

namespace thalweg::delta {

// Protocol, metadata, transactions and live domains.
std::vector<Action> nonFileActions(const Snapshot& snapshot);

struct TopLevel {
  CheckpointMetadata metadata;
  std::vector<Sidecar> sidecars;
  std::vector<Action> actions;

  int64_t numRows() const { return static_cast<int64_t>(1 + sidecars.size() + actions.size()); }
  // As JSON lines or as Parquet, by the path's end; readers see the whole file or none.
  void write(FileSystem& fileSystem, const std::string& path, const CheckpointColumns& columns) const;
  // The lines of `actions` and `metadata` without line ends, as the hint repeats them.
  std::vector<std::string> nonFileLines() const;
};

}  // namespace thalweg::delta
