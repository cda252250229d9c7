#include "formats/parquet/parquet_codec.h"

#include <map>
#include <string>

#include "common/error.h"
#include "common/options.h"

namespace thalweg {

std::optional<ParquetWriteOptions::Compression> parquetCompression(std::string_view name) {
  using Compression = ParquetWriteOptions::Compression;
  static const std::map<std::string, Compression> kCodecs = {{"snappy", Compression::Snappy},
                                                             {"zstd", Compression::Zstd},
                                                             {"gzip", Compression::Gzip},
                                                             {"none", Compression::Uncompressed},
                                                             {"uncompressed", Compression::Uncompressed}};
  const auto it = kCodecs.find(toLowerAscii(name));
  return it == kCodecs.end() ? std::nullopt : std::optional(it->second);
}

std::string_view parquetExtension(ParquetWriteOptions::Compression compression) {
  switch (compression) {
    case ParquetWriteOptions::Compression::Snappy:
      return ".snappy.parquet";
    case ParquetWriteOptions::Compression::Zstd:
      return ".zstd.parquet";
    case ParquetWriteOptions::Compression::Gzip:
      return ".gz.parquet";
    case ParquetWriteOptions::Compression::Uncompressed:
      return ".parquet";
  }
  throw internalError("unknown Parquet compression");
}

}  // namespace thalweg
