// Columns whose type was widened (the features typeWidening and typeWidening-preview): which changes a reader
// can undo, and how a schema says what was changed.
#pragma once

#include <string_view>

#include "types/data_type.h"

namespace thalweg::delta {

// Lets a table's types be widened; what was widened stays so when it is switched off.
inline constexpr std::string_view kEnableTypeWidening = "delta.enableTypeWidening";

// Whether values stored under `from` can be read as `to` by the protocol's list: wider integers, float to
// double, integers of 32 bits to double, decimals with as many digits on both sides, integers to decimals
// that hold all of them, date to timestamp_ntz.
bool isSupportedTypeChange(const DataType& from, const DataType& to);

// Whether a write whose rows have `to` may widen a column of `from` by itself: such changes within a family
// of types only (integers, floating-point numbers, decimals, dates).
bool widensByItself(const DataType& from, const DataType& to);

// Whether some type of `to`, at any depth, differs from `from`'s in its place (fields by name, added ones
// aside).
bool changesTypes(const DataType& from, const DataType& to);

// `to` is `from` with some types that are not nested exchanged, and columns added: each exchange is recorded
// in delta.typeChanges of the field that it lies in, after earlier ones. Throws Error
// DELTA_UNSUPPORTED_TYPE_CHANGE_IN_SCHEMA for one that no reader could undo.
SchemaPtr withRecordedTypeChanges(const Schema& from, const SchemaPtr& to);

// The schema with `version` as that which made each recorded change that names none: clients of
// typeWidening-preview (Delta 3.2) read it of every change.
SchemaPtr withVersionsOfTypeChanges(const SchemaPtr& schema, int64_t version);

// Reads the field metadata delta.typeChanges at every depth. Throws Error
// DELTA_UNSUPPORTED_TYPE_CHANGE_IN_SCHEMA naming the column, DELTA_STATE_RECOVER_ERROR where it is no list of
// changes. `table` names the table in the text.
void checkTypeChanges(const Schema& schema, std::string_view table);

}  // namespace thalweg::delta
