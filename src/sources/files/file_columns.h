// The columns of a file read: the files' own and those of their folders, then the hidden _metadata.
#pragma once

#include <memory>
#include <vector>

#include "sources/files/record_format.h"
#include "types/time_zone.h"

namespace thalweg {

inline constexpr std::string_view kFileMetadataColumn = "_metadata";

// Immutable, shared by the splits of a read.
struct FileColumns {
  enum class Origin { File, Folder, Metadata };
  // Where a column's values come from: its place in `dataSchema` or among the partition columns.
  struct Source {
    Origin origin = Origin::File;
    int index = 0;
  };

  // A partition column takes the place of the data column of its name, the others come last. _metadata is
  // left out where there is a column of that name.
  static FileColumns make(const SchemaPtr& dataSchema, std::vector<StructField> partitionColumns,
                          bool caseSensitive, bool hasRowIndex);

  SchemaPtr schema;
  std::vector<Source> sources;  // of the schema's columns
  int visibleCount = 0;         // all but _metadata
  SchemaPtr dataSchema;         // of the files; a column that folders say too is never asked of them
  std::vector<StructField> partitionColumns;  // in the order of the folders
};

// struct<file_path, file_name, file_size, file_block_start, file_block_length, file_modification_time>,
// nothing nullable; of formats that have it, row_index too.
DataTypePtr fileMetadataType(bool hasRowIndex = false);

}  // namespace thalweg
