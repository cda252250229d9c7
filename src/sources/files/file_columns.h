// The columns of a file read: the files' own, then partition columns, then the hidden _metadata.
#pragma once

#include <memory>
#include <vector>

#include "sources/files/record_format.h"
#include "types/time_zone.h"

namespace thalweg {

inline constexpr std::string_view kFileMetadataColumn = "_metadata";

// Immutable, shared by the splits of a read.
struct FileColumns {
  // `dataSchema` without the partition columns. _metadata is left out where the files have a column of that
  // name.
  static FileColumns make(const SchemaPtr& dataSchema, const std::vector<StructField>& partitionColumns,
                          bool hasRowIndex = false);
  bool isData(int column) const { return column < dataCount; }
  bool isPartition(int column) const { return column >= dataCount && column < visibleCount; }
  const StructField& partition(size_t i) const {
    return schema->fields()[static_cast<size_t>(dataCount) + i];
  }
  size_t partitionCount() const { return static_cast<size_t>(visibleCount - dataCount); }

  SchemaPtr schema;
  SchemaPtr dataSchema;
  int dataCount = 0;
  int visibleCount = 0;
};

// struct<file_path, file_name, file_size, file_block_start, file_block_length, file_modification_time>,
// nothing nullable; of formats that have it, row_index too.
DataTypePtr fileMetadataType(bool hasRowIndex = false);

}  // namespace thalweg
