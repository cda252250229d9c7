// The format "parquet" of the file source.
#pragma once

#include "sources/files/record_format.h"

namespace thalweg {

// Options: mergeSchema, also as the setting spark.sql.parquet.mergeSchema under its own name. Throws Error
// FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER for a file whose schema is asked for in vain,
// CANNOT_MERGE_SCHEMAS for files whose columns do not go together.
FileFormatDefinition parquetFileFormat();

}  // namespace thalweg
