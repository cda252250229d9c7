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

// Which physical name a column gets that has none yet.
enum class PhysicalNames {
  Generated,  // col-<uuid>
  AsShown,    // its own: files are there that have it so
};
// Gives every column of a table with column mapping, at every level, an id and a physical name where it has
// none, ids above delta.columnMapping.maxColumnId, which moves on. Without mapping nothing changes.
void assignColumnMapping(Metadata* metadata, PhysicalNames names);

// The schema without what a Delta table keeps in its columns' metadata: for rows that were read from one
// table and go into another.
SchemaPtr withoutTableMetadata(const SchemaPtr& schema);

}  // namespace thalweg::delta
