// The doors of the file formats: as a stream and as a batch table.
//
//   format.streamSchema = [](auto& read, auto& files) { return fileStreamSchema(jsonFileFormat(), read,
//   files); };
#pragma once

#include <memory>

#include "connector/registry.h"
#include "sources/files/record_format.h"

namespace thalweg {

// The user's schema, made nullable, without the partition columns; then the partition columns of the folders
// that are there (with recursiveFileLookup none); then hidden _metadata. Throws Error _LEGACY_ERROR_TEMP_2047
// without a path, _LEGACY_ERROR_TEMP_2048 without a schema, PATH_NOT_FOUND where the path (no pattern) does
// not exist.
StreamSchema fileStreamSchema(const FileFormatDefinition& format, const ReadDefinition& read,
                              const FileSystemRegistry& registry);

// Throws Error INVALID_OPTION for stream options that do not fit, the errors of the source log,
// INVALID_SCHEMA where `context.schema` is given and the folders give another one by now.
std::unique_ptr<StreamSource> openFileStream(const FileFormatDefinition& format, const ReadDefinition& read,
                                             const FileSystemRegistry& registry,
                                             const StreamSourceContext& context);

// The files as they are now; without a schema, that of the files. Throws Error PATH_NOT_FOUND for a path or
// pattern that names nothing, UNABLE_TO_INFER_SCHEMA, unsupported() where a schema is missing that the format
// cannot be asked for.
std::shared_ptr<Table> openFileTable(const FileFormatDefinition& format, const ReadDefinition& read,
                                     const FileSystemRegistry& registry);

}  // namespace thalweg
