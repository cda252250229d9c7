// Columns whose type was widened (the features typeWidening and typeWidening-preview): which changes a reader
// can undo.
#pragma once

#include <string_view>

#include "types/data_type.h"

namespace thalweg::delta {

// Whether values stored under `from` can be read as `to` by the protocol's list: wider integers, float to
// double, integers of 32 bits to double, decimals with as many digits on both sides, integers to decimals
// that hold all of them, date to timestamp_ntz.
bool isSupportedTypeChange(const DataType& from, const DataType& to);

// Reads the field metadata delta.typeChanges at every depth. Throws Error
// DELTA_UNSUPPORTED_TYPE_CHANGE_IN_SCHEMA naming the column, DELTA_STATE_RECOVER_ERROR where it is no list of
// changes. `table` names the table in the text.
void checkTypeChanges(const Schema& schema, std::string_view table);

}  // namespace thalweg::delta
