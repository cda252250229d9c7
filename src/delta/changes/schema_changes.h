// Whether a reader that was planned with one schema can read rows that were written under another.
#pragma once

#include <string>
#include <vector>

#include "delta/actions/actions.h"
#include "types/data_type.h"

namespace thalweg::delta {

// Whether rows of `data` can be read as `read`: every column of the data is there under its exact name and
// with its type, and none of them is nullable where the reader's is not (`forbidTighterNulls`; else the other
// way around). Columns that only the reader has are null.
bool isReadCompatible(const Schema& data, const Schema& read, bool forbidTighterNulls = true);

// What a change of metadata from `older` to `newer` does to the columns that they share.
// Rename, drop and repartition exist under column mapping alone (without it, another name is another column);
// a table whose mapping was switched on meanwhile counts as mapped, by its names.
bool renamesOrDropsColumns(const Metadata& older, const Metadata& newer);
// A column's type was widened: only where both have it.
bool widensTypes(const Schema& older, const Schema& newer);

}  // namespace thalweg::delta
