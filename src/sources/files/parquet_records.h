// The format "parquet" of the file source.
#pragma once

#include "sources/files/record_format.h"

namespace thalweg {

// Options: mergeSchema, datetimeRebaseMode and int96RebaseMode, also as the settings
// spark.sql.parquet.mergeSchema, …datetimeRebaseModeInRead and …int96RebaseModeInRead under their own names;
// spark.sql.caseSensitive, …legacy.parquet.nanosAsLong and …parquet.inferTimestampNTZ.enabled.
// Throws Error INVALID_OPTION, FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER for a file whose schema is asked for
// in vain, CANNOT_MERGE_SCHEMAS for files whose columns do not go together.
FileFormatDefinition parquetFileFormat();

}  // namespace thalweg
