// One question to a table, without its snapshot: which files may hold rows that satisfy a predicate.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "common/clock.h"
#include "delta/actions/actions.h"
#include "delta/scan/file_skipping.h"
#include "storage/file_system.h"

namespace thalweg::delta {

struct FileListing {
  int64_t version = 0;
  Protocol protocol;
  Metadata metadata;
  int64_t numFiles = 0;  // that were chosen
};

// What is asked, by the table's columns.
using PredicatesOf = std::function<std::vector<ColumnPredicate>(const Metadata&)>;

// Calls `visit` for each live file of the newest version that the predicates do not rule out, in no order,
// and keeps none: memory is a batch of the checkpoint and the commits after it. Row groups of the checkpoint
// are passed over by their bounds where a predicate names a partition column (checkpoints that we write have
// a partition's files together). For a table that is asked again and again a snapshot is cheaper. nullopt
// where there is no table; throws as loadSnapshot, but a checkpoint that cannot be read is no reason to look
// for another: files may have been visited by then. Partition values without a zone are UTC's.
std::optional<FileListing> listFiles(const Location& table, const PredicatesOf& predicatesOf,
                                     const std::function<void(AddFile&&)>& visit,
                                     const Clock& clock = systemClock());

}  // namespace thalweg::delta
