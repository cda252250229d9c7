#include "sources/files/record_stream.h"

#include <arrow/io/compressed.h>
#include <arrow/io/interfaces.h>
#include <arrow/util/compression.h>

#include "common/error.h"
#include "types/arrow_result.h"

namespace thalweg {
namespace {

std::shared_ptr<arrow::io::InputStream> decompressed(const std::string& path,
                                                     std::shared_ptr<arrow::io::InputStream> raw) {
  static constexpr std::pair<std::string_view, arrow::Compression::type> kCodecs[] = {
      {".gz", arrow::Compression::GZIP},
      {".zst", arrow::Compression::ZSTD},
      {".bz2", arrow::Compression::BZ2}};
  for (const char* suffix : {".deflate", ".snappy", ".lz4"}) {
    if (path.ends_with(suffix))
      throw unsupported(std::string("Files compressed as ") + suffix + " (" + path + ")");
  }
  for (const auto& [suffix, type] : kCodecs) {
    if (!path.ends_with(suffix)) continue;
    if (!arrow::util::Codec::IsAvailable(type))
      throw unsupported(fmt::format("Files compressed as {} ({})", suffix, path));
    std::shared_ptr<arrow::util::Codec> codec = valueOrThrow(arrow::util::Codec::Create(type));
    // The stream keeps only a plain pointer to its codec.
    auto stream = valueOrThrow(arrow::io::CompressedInputStream::Make(codec.get(), std::move(raw)));
    return {stream.get(), [codec, stream](arrow::io::InputStream*) {}};
  }
  return raw;
}

}  // namespace

RecordStream openRecordStream(const Location& file) {
  RecordStream stream;
  stream.stored = file.fileSystem->openInput(file.path);
  stream.content = decompressed(file.path, stream.stored);
  return stream;
}

}  // namespace thalweg
