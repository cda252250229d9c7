// ALTER TABLE … SET TBLPROPERTIES ('delta.enableRowTracking' = 'true') of a table that has files: their rows
// get ids first.
#pragma once

#include <memory>

#include "delta/snapshot/delta_log.h"

namespace thalweg::delta {

// Commits the feature where the table lacks it, so that whoever writes from then on gives ids, then the files
// that have none anew with ids, dataChange false, in commits of at most 22,000, as Delta does. Gives the
// version where every file has them; what is left to do is a commit of the property. Others may write all the
// time; what was done stays done where an exception ends it. Throws Error
// DELTA_ROW_ID_ASSIGNMENT_WITHOUT_STATS for a file whose statistics do not count its rows,
// DELTA_UNSUPPORTED_FEATURES_FOR_WRITE, and the conflict's.
SnapshotPtr giveRowIds(const std::shared_ptr<DeltaLog>& log);

}  // namespace thalweg::delta
