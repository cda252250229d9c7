// A Parquet file opened for reading: what the readers of this folder share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>
#include <parquet/arrow/reader.h>
#include <parquet/metadata.h>

#include "formats/parquet/parquet_file.h"
#include "storage/file_system.h"

namespace thalweg {

// The library's reader: buffered, one thread, timestamps of INT96 in microseconds. Throws Error
// PATH_NOT_FOUND, or FAILED_READ_FILE.NO_HINT naming the file.
std::unique_ptr<parquet::arrow::FileReader> openParquet(FileSystem& fileSystem, const std::string& path,
                                                        arrow::MemoryPool* pool, int64_t batchRows);

// The rows of the row groups: what the footer says of the whole file is not used for reading. Throws
// parquet::ParquetException where they come to no number.
int64_t rowsOf(const parquet::FileMetaData& metadata);

// The library ends at the last value that it finds, also where pages of a damaged file are lost: throws Error
// FAILED_READ_FILE.NO_HINT where that is not what the footer says.
void requireRows(int64_t found, int64_t expected, const std::string& path);

// The leaf columns at and below the named ones (names, or dotted paths).
std::vector<int> leavesBelow(const std::vector<std::string>& columns, const parquet::FileMetaData& metadata);

// Nothing where the footer says nothing of the leaf column.
std::optional<ParquetColumnBounds> boundsOf(const parquet::RowGroupMetaData& group, int leaf);

}  // namespace thalweg
