// Column mapping: the names and ids under which a table's columns are stored.
#pragma once

#include <string>

#include "delta/actions/actions.h"
#include "types/data_type.h"

namespace thalweg::delta {

enum class ColumnMappingMode { None, Name, Id };

// From delta.columnMapping.mode. An unknown mode throws unsupported().
ColumnMappingMode columnMappingMode(const Metadata& metadata);

// The schema as files have it: physical names at every level and field ids under the Parquet reader's key;
// the schema itself without mapping. Same shape as the logical one. Throws Error DELTA_STATE_RECOVER_ERROR
// where a field lacks its physical name.
SchemaPtr physicalSchema(const SchemaPtr& schema, ColumnMappingMode mode);

}  // namespace thalweg::delta
