// Writes the rows of data files anew in the order of a curve through several columns, in bounded memory.
#pragma once

#include <cstdint>
#include <vector>

#include "common/cancellation.h"
#include "delta/actions/actions.h"
#include "delta/maintain/space_curve.h"
#include "delta/snapshot/snapshot.h"

namespace thalweg::delta {

struct CurveWriteOptions {
  std::vector<CurveColumn> columns;          // paths in the table's schema, none of a partition column
  int64_t targetBytes = int64_t{1} << 30;    // of a file made, by the size of what it is made of
  int64_t memoryBytes = int64_t{128} << 20;  // of rows held: more go through a temporary file
  const CancellationToken* cancellation = nullptr;
};

// The live rows of `files`, which are the snapshot's and of one partition, as new files, durable and in no
// commit, with their ids where the table tracks rows (movedRowsLayout's errors); rows are sorted inside of
// files too. The files are read twice, the first time only the curve's columns. Where an exception is thrown
// nothing is left behind.
std::vector<AddFile> writeAlongCurve(const Snapshot& snapshot, const std::vector<AddFile>& files,
                                     const CurveWriteOptions& options);

}  // namespace thalweg::delta
