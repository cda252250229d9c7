// The codecs that Parquet files are written with, by Spark's names.
#pragma once

#include <optional>
#include <string_view>

#include "formats/parquet/parquet_file.h"

namespace thalweg {

// Of a codec's name ("zstd", "none"), in any case; nothing for one that files are not written with.
std::optional<ParquetWriteOptions::Compression> parquetCompression(std::string_view name);
// How Spark ends the names of such files: ".snappy.parquet".
std::string_view parquetExtension(ParquetWriteOptions::Compression compression);

}  // namespace thalweg
