// One leaf column of the row group in hand: levels and values as finished, compressed pages.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/type_fwd.h>
#include <parquet/types.h>

#include "formats/parquet/column_levels.h"
#include "formats/parquet/column_values.h"

namespace arrow::util {
class Codec;
}
namespace parquet {
class ColumnChunkMetaDataBuilder;
class DataPageV1;
}  // namespace parquet

namespace thalweg {

// Where a page is put together: one for all columns of a file, whose pages end one after another.
struct PageBuffers {
  std::vector<uint8_t> plain;
  std::vector<uint8_t> compressed;
};

// Pages end at about a megabyte or 20,000 records, as Spark's do, and never within a record. Used by one
// thread; failures throw parquet::ParquetException or Error.
class ColumnChunk {
 public:
  // `codec` may be null, for uncompressed pages. All are kept by the caller.
  ColumnChunk(const parquet::ColumnDescriptor& column, const arrow::DataType& type, arrow::util::Codec* codec,
              PageBuffers& buffers);
  ~ColumnChunk();
  ColumnChunk(ColumnChunk&&) noexcept;

  // Some whole records.
  void write(const LeafLevels& levels, const arrow::ArrayData& values, int64_t numRecords);
  // Bytes of memory, without the buffers.
  int64_t heldBytes() const;

  struct Target {
    std::shared_ptr<arrow::io::OutputStream> stream;
    parquet::ColumnChunkMetaDataBuilder* metadata = nullptr;
    parquet::Compression::type compression = parquet::Compression::UNCOMPRESSED;
    int16_t rowGroup = 0;
    int16_t column = 0;
  };
  // Writes the chunk, and begins the next row group's. Returns its bytes before compression.
  int64_t finish(const Target& target);

  // Of all row groups; complete after finish().
  const ParquetBounds& bounds() const { return bounds_; }

 private:
  void appendLevels(const LeafLevels& levels);
  void endPage();
  void encodeLevels(const std::vector<int16_t>& levels, int16_t highest, int16_t otherwise);
  std::shared_ptr<arrow::Buffer> compressed();

  const parquet::ColumnDescriptor& column_;
  arrow::util::Codec* codec_;
  PageBuffers& buffers_;
  std::unique_ptr<ColumnValues> values_;
  std::vector<int16_t> definition_;  // of the page in hand; empty: all at the highest
  std::vector<int16_t> repetition_;  // of a column below a list
  int64_t numLevels_ = 0;            // of the page in hand
  int64_t numRecords_ = 0;
  std::vector<parquet::DataPageV1> pages_;
  int64_t pagesBytes_ = 0;
  int64_t nullCount_ = 0;  // levels without a value, of this row group
  ParquetBounds bounds_;
};

}  // namespace thalweg
