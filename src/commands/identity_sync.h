// ALTER TABLE … ALTER COLUMN … SYNC IDENTITY.
#pragma once

#include "delta/snapshot/snapshot.h"
#include "types/data_type.h"

namespace thalweg {

// Moves the high-water mark of an identity column to the value that is furthest in the table, which the
// statistics of its files tell. Throws Error DELTA_IDENTITY_COLUMNS_ALTER_NON_IDENTITY_COLUMN, and
// unsupported() for a table with files that have none.
void syncIdentity(const delta::Snapshot& snapshot, StructField* field);

}  // namespace thalweg
