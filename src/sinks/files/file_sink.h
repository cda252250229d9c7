// The doors of the file formats for writing: as a batch and as a stream's output.
#pragma once

#include <memory>

#include "connector/registry.h"
#include "sinks/files/record_output.h"

namespace thalweg {

// A batch write into a folder. Files are written below <folder>/_temporary/ and moved to their places, one
// rename each, by the commit, which ends with the file _SUCCESS: a write that dies before its commit leaves
// nothing that a reader sees, one that dies in it what it had moved (file_batch_write.h). Overwrite removes
// what is in the folder before rows are written, as Spark does, a stream's log last; with the option or
// setting partitionOverwriteMode=dynamic, and partition columns, only the partitions that rows came for, at
// the commit. Null for Ignore where the folder is there. Throws Error _LEGACY_ERROR_TEMP_2047 without a path,
// PATH_ALREADY_EXISTS, those of FileLayout::make, and for folders that are refused (output_folder.h).
std::unique_ptr<BatchWrite> openFileWrite(const FileOutputDefinition& format, const WriteDefinition& write,
                                          const FileSystemRegistry& registry, SaveMode mode,
                                          const SchemaPtr& schema);

// A stream's output folder. A batch's files are written to their places and count once the log <folder>/
// _spark_metadata/ names them (connector/sink_file_log.h): a replayed batch that is the log's newest is
// skipped, one that a killed run left half written is written anew under other names. Where the log is ahead
// of the checkpoint, or has a batch that this run is about to plan, another checkpoint wrote it: Error
// STREAMING_CHECKPOINT_BEHIND_SINK. A folder without a log must have no files of others: output_folder.h.
// Option retention: entries of files older than that leave the log. Throws Error _LEGACY_ERROR_TEMP_2047
// without a path, INVALID_OPTION, and at validate() those of FileLayout::make, _LEGACY_ERROR_TEMP_1196 for a
// partition column that is none.
std::unique_ptr<StreamSink> openFileStreamSink(const FileOutputDefinition& format,
                                               const WriteDefinition& write,
                                               const FileSystemRegistry& registry);

}  // namespace thalweg
