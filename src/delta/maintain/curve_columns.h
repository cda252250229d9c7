// Which columns a table's rows can be put in order by.
#pragma once

#include <string>
#include <vector>

#include "delta/maintain/space_curve.h"
#include "delta/snapshot/snapshot.h"

namespace thalweg::delta {

// The columns of these paths (logical names, any case). Throws Error DELTA_ZORDERING_COLUMN_DOES_NOT_EXIST,
// DELTA_ZORDERING_ON_PARTITION_COLUMN, and, where `needStatistics`,
// DELTA_ZORDERING_ON_COLUMN_WITHOUT_STATS naming all that have none.
std::vector<CurveColumn> curveColumns(const Snapshot& snapshot,
                                      const std::vector<std::vector<std::string>>& paths,
                                      bool needStatistics);

}  // namespace thalweg::delta
