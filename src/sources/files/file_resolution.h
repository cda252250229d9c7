// From a reader's definition to columns and files: what the stream and the table share.
#pragma once

#include <memory>
#include <vector>

#include "sources/files/file_listing.h"
#include "sources/files/file_scan.h"
#include "sources/files/partition_columns.h"

namespace thalweg {

// One root's files as they were listed.
struct ListedRoot {
  FileRoot root;
  std::vector<ListedFile> files;
};

// The schema that the user, or the format, gives the files; null where neither does. Every part nullable.
SchemaPtr declaredSchema(const FileFormatDefinition& format, const ReadDefinition& read);

// The options' time zone, and the session's settings of names and types that lie among the options.
FolderRules folderRulesOf(const ReadDefinition& read);

// Who says which columns there are. Where folders say one of them too, their values count, and as in Spark
// the schema that is given has its type, and it comes last; in the schema that the files say it keeps its
// place, with the type of the folders' values.
enum class SchemaOrigin { Given, Found };

// Columns of files below `roots`. `schema` is not null.
FileColumns resolveColumns(const FileFormatDefinition& format, const SchemaPtr& schema, SchemaOrigin origin,
                           const std::vector<ListedRoot>& roots, const FolderRules& rules);

// The schema that the files themselves say. Throws Error UNABLE_TO_INFER_SCHEMA where they say nothing,
// unsupported() where the format cannot be asked.
SchemaPtr inferredSchema(const FileFormatDefinition& format, const ReadDefinition& read,
                         const std::vector<ListedRoot>& roots);

// The values of a file's folders for the partition columns. Nothing where the file lies below no partition
// folder though there are columns: such files are no part of a partitioned read. Throws
// CONFLICTING_PARTITION_COLUMN_NAMES.
std::optional<std::vector<std::shared_ptr<arrow::Scalar>>> partitionValuesOf(
    const std::vector<std::string>& folders, const FileColumns& columns, const TimeZone& zone);

// Throws Error COLUMN_ALREADY_EXISTS where the files, or their folders, have two columns of one name, also
// in structs.
std::shared_ptr<const FileScan> makeScan(const FileFormatDefinition& format, const ReadDefinition& read,
                                         const FileListOptions& options, FileColumns columns);

}  // namespace thalweg
