// What a folder may hold before files are written into it: nobody else's table, and no files that readers
// would lose sight of.
#pragma once

#include <string_view>

#include "storage/file_system.h"

namespace thalweg {

// Files of a format beside those of a Delta table are in nobody's log: its readers do not see them, VACUUM
// removes them, an overwrite removes the table; and who reads the table's files without the log gets rows
// that were deleted. Throws Error DELTA_INVALID_FORMAT where the folder is a table's, or is below one (not
// where a folder between begins with '_' or '.', which a table passes over). `action`: "write into", "stream
// from".
void refuseDeltaTable(const Location& folder, std::string_view format, std::string_view action);

// Of batch writes that leave other files in the folder. Readers of a stream's output take the files that its
// log names: Error STREAMING_OUTPUT_FOLDER.BATCH_WRITE where there is such a log.
void refuseSinkLog(const Location& folder);

// Of streams that begin the log. It would hide what is there from every reader: Error
// STREAMING_OUTPUT_FOLDER.UNLOGGED_FILES, naming one, where a file of data lies in the folder or below: one
// named part-…, or with the format in its name ("a.snappy.parquet"), in no folder that begins with '_' or
// '.'.
void refuseUnloggedFiles(const Location& folder, std::string_view format);

}  // namespace thalweg
