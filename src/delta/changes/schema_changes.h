// Whether a reader that was planned with one schema can read rows that were written under another.
#pragma once

#include <string>
#include <vector>

#include "delta/actions/actions.h"
#include "types/data_type.h"

namespace thalweg::delta {

struct ReadCompatibility {
  // None of the data's columns is nullable where the reader's is not; else the other way around.
  bool forbidTighterNulls = true;
  bool allowMissingColumns = false;  // the reader may lack columns that the data has
  bool allowWidenedTypes = false;    // the reader may have a type that the data's can be widened to
};

// Whether rows of `data` can be read as `read`: every column of the data is there under its exact name and
// with its type. Columns that only the reader has are null.
bool isReadCompatible(const Schema& data, const Schema& read, const ReadCompatibility& rules = {});

// What a change of metadata from `older` to `newer` does to the columns that they share.
// Rename, drop and repartition exist under column mapping alone (without it, another name is another column);
// a table whose mapping was switched on meanwhile counts as mapped, by its names.
bool renamesOrDropsColumns(const Metadata& older, const Metadata& newer);

}  // namespace thalweg::delta
