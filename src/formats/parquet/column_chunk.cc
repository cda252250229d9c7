#include "formats/parquet/column_chunk.h"

#include <cstring>
#include <limits>

#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/util/compression.h>
#include <parquet/column_page.h>
#include <parquet/column_writer.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>
#include <parquet/statistics.h>

#include "common/error.h"
#include "formats/parquet/column_bounds.h"
#include "formats/parquet/hybrid_runs.h"
#include "types/arrow_result.h"

namespace thalweg {
namespace {

constexpr int64_t kPageBytes = 1 << 20;
constexpr int64_t kPageRecords = 20'000;
constexpr int64_t kPageLevels = 1 << 18;
// Sizes are 32 bits in the format, and codecs may add to them.
constexpr int64_t kLargestPage = int64_t{1} << 30;

}  // namespace

ColumnChunk::ColumnChunk(const parquet::ColumnDescriptor& column, const arrow::DataType& type,
                         arrow::util::Codec* codec, PageBuffers& buffers)
    : column_(column), codec_(codec), buffers_(buffers), values_(makeColumnValues(column, type)) {}

ColumnChunk::~ColumnChunk() = default;
ColumnChunk::ColumnChunk(ColumnChunk&&) noexcept = default;

void ColumnChunk::write(const LeafLevels& levels, const arrow::ArrayData& values, int64_t numRecords) {
  appendLevels(levels);
  values_->append(values, levels.runs);
  numRecords_ += numRecords;
  if (numRecords_ >= kPageRecords || numLevels_ >= kPageLevels || values_->pageBytes() >= kPageBytes)
    endPage();
}

void ColumnChunk::appendLevels(const LeafLevels& levels) {
  const int16_t highest = column_.max_definition_level();
  if (!levels.definition.empty()) {
    definition_.resize(static_cast<size_t>(numLevels_), highest);
    definition_.insert(definition_.end(), levels.definition.begin(), levels.definition.end());
  } else if (!definition_.empty()) {
    definition_.resize(static_cast<size_t>(numLevels_ + levels.count), highest);
  }
  if (column_.max_repetition_level() > 0) {
    repetition_.insert(repetition_.end(), levels.repetition.begin(), levels.repetition.end());
    repetition_.resize(static_cast<size_t>(numLevels_ + levels.count), 0);
  }
  numLevels_ += levels.count;
  nullCount_ += levels.count;
  for (const ValueRun& run : levels.runs) nullCount_ -= run.count;
}

// Levels with their length before them; where there is no vector, all are `otherwise`.
void ColumnChunk::encodeLevels(const std::vector<int16_t>& levels, int16_t highest, int16_t otherwise) {
  if (highest == 0) return;
  const int bits = bitWidthOf(static_cast<uint32_t>(highest));
  std::vector<uint8_t>& page = buffers_.plain;
  const size_t start = page.size();
  page.resize(start + 4);
  if (levels.empty()) {
    appendHybridRun(static_cast<uint32_t>(otherwise), numLevels_, bits, page);
  } else {
    appendHybridRuns(levels.data(), numLevels_, bits, page);
  }
  const auto length = static_cast<uint32_t>(page.size() - start - 4);
  std::memcpy(page.data() + start, &length, 4);
}

std::shared_ptr<arrow::Buffer> ColumnChunk::compressed() {
  const std::vector<uint8_t>& page = buffers_.plain;
  if (!codec_) return arrow::Buffer::FromVector(std::vector<uint8_t>(page));
  const auto size = static_cast<int64_t>(page.size());
  const int64_t most = codec_->MaxCompressedLen(size, page.data());
  std::vector<uint8_t>& out = buffers_.compressed;
  if (static_cast<int64_t>(out.size()) < most) out.resize(static_cast<size_t>(most));
  const int64_t bytes = valueOrThrow(codec_->Compress(size, page.data(), most, out.data()));
  return arrow::Buffer::FromVector(std::vector<uint8_t>(out.begin(), out.begin() + bytes));
}

void ColumnChunk::endPage() {
  if (numLevels_ == 0) return;
  std::vector<uint8_t>& page = buffers_.plain;
  page.clear();
  encodeLevels(repetition_, column_.max_repetition_level(), 0);
  encodeLevels(definition_, column_.max_definition_level(), column_.max_definition_level());
  const parquet::Encoding::type encoding = values_->finishPage(page);
  if (static_cast<int64_t>(page.size()) > kLargestPage) {
    throw unsupported("a Parquet page of more than 1 GiB, for one record's values of the column " +
                      column_.path()->ToDotString());
  }
  pages_.emplace_back(compressed(), static_cast<int32_t>(numLevels_), encoding, parquet::Encoding::RLE,
                      parquet::Encoding::RLE, static_cast<int64_t>(page.size()));
  pagesBytes_ += pages_.back().size();
  definition_.clear();
  repetition_.clear();
  numLevels_ = numRecords_ = 0;
  if (page.capacity() > 4 * kPageBytes) buffers_ = {};
}

int64_t ColumnChunk::heldBytes() const {
  const size_t levels = definition_.size() + repetition_.size();
  return pagesBytes_ + values_->heldBytes() + static_cast<int64_t>(levels * sizeof(int16_t));
}

int64_t ColumnChunk::finish(const Target& target) {
  endPage();
  const ParquetBounds bounds = values_->bounds();
  const auto dictionary = values_->finishChunk();
  target.metadata->SetStatistics(footerStatistics(bounds, nullCount_, column_));
  const auto writer = parquet::PageWriter::Open(target.stream, target.compression, target.metadata,
                                                target.rowGroup, target.column);
  int64_t bytes = 0;
  bool fellBack = false;
  if (dictionary) {
    const auto contents = std::make_shared<arrow::Buffer>(dictionary->page.data(),
                                                          static_cast<int64_t>(dictionary->page.size()));
    bytes += writer->WriteDictionaryPage(
        {contents, static_cast<int32_t>(dictionary->numValues), parquet::Encoding::PLAIN});
  }
  for (const parquet::DataPageV1& page : pages_) {
    fellBack |= dictionary && page.encoding() == parquet::Encoding::PLAIN;
    bytes += writer->WriteDataPage(page);
  }
  writer->Close(dictionary.has_value(), fellBack);
  widen(bounds_, bounds);
  pages_.clear();
  pagesBytes_ = nullCount_ = 0;
  definition_ = std::vector<int16_t>();
  repetition_ = std::vector<int16_t>();
  return bytes;
}

}  // namespace thalweg
