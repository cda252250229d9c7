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
                         arrow::util::Codec* codec)
    : column_(column), codec_(codec), values_(makeColumnValues(column, type)) {}

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
  const size_t start = page_.size();
  page_.resize(start + 4);
  if (levels.empty()) {
    appendHybridRun(static_cast<uint32_t>(otherwise), numLevels_, bits, page_);
  } else {
    appendHybridRuns(levels.data(), numLevels_, bits, page_);
  }
  const auto length = static_cast<uint32_t>(page_.size() - start - 4);
  std::memcpy(page_.data() + start, &length, 4);
}

std::shared_ptr<arrow::Buffer> ColumnChunk::compressed() {
  const auto size = static_cast<int64_t>(page_.size());
  if (!codec_) return arrow::Buffer::FromVector(std::vector<uint8_t>(page_));
  const int64_t most = codec_->MaxCompressedLen(size, page_.data());
  if (static_cast<int64_t>(scratch_.size()) < most) scratch_.resize(static_cast<size_t>(most));
  const int64_t bytes = valueOrThrow(codec_->Compress(size, page_.data(), most, scratch_.data()));
  return arrow::Buffer::FromVector(std::vector<uint8_t>(scratch_.begin(), scratch_.begin() + bytes));
}

void ColumnChunk::endPage() {
  if (numLevels_ == 0) return;
  page_.clear();
  encodeLevels(repetition_, column_.max_repetition_level(), 0);
  encodeLevels(definition_, column_.max_definition_level(), column_.max_definition_level());
  const parquet::Encoding::type encoding = values_->finishPage(page_);
  if (static_cast<int64_t>(page_.size()) > kLargestPage) {
    throw unsupported("a Parquet page of more than 1 GiB, for one record's values of the column " +
                      column_.path()->ToDotString());
  }
  const auto numLevels = static_cast<int32_t>(numLevels_);
  pages_.emplace_back(compressed(), numLevels, encoding, parquet::Encoding::RLE, parquet::Encoding::RLE,
                      static_cast<int64_t>(page_.size()));
  pagesBytes_ += pages_.back().size();
  definition_.clear();
  repetition_.clear();
  numLevels_ = numRecords_ = 0;
  if (page_.capacity() > 4 * kPageBytes) page_ = {};
  if (scratch_.capacity() > 4 * kPageBytes) scratch_ = {};
}

int64_t ColumnChunk::heldBytes() const {
  const size_t levels = definition_.capacity() + repetition_.capacity();
  return pagesBytes_ + values_->heldBytes() +
         static_cast<int64_t>(levels * 2 + page_.capacity() + scratch_.capacity());
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
  return bytes;
}

}  // namespace thalweg
