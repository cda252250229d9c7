// The values of a leaf column, without its nulls: encoded page by page, with their bounds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>
#include <parquet/types.h>

#include "formats/parquet/column_levels.h"
#include "formats/parquet/parquet_file.h"

namespace parquet {
class ColumnDescriptor;
}

namespace thalweg {

// Of one column chunk at a time. Numbers and texts go through a dictionary until it is full or does not pay;
// then, and for all others, plain. Times are differences. Used by one thread.
class ColumnValues {
 public:
  virtual ~ColumnValues() = default;

  // Adds the runs' values to the page in hand.
  virtual void append(const arrow::ArrayData& array, std::span<const ValueRun> runs) = 0;
  // About how many bytes the page in hand takes.
  virtual int64_t pageBytes() const = 0;
  // Bytes of memory, the dictionary counted.
  virtual int64_t heldBytes() const = 0;
  // Appends the page's values to `out` and begins the next page. The answer is the page's encoding.
  virtual parquet::Encoding::type finishPage(std::vector<uint8_t>& out) = 0;

  // The dictionary that the chunk's pages refer to.
  struct Dictionary {
    std::vector<uint8_t> page;
    int64_t numValues = 0;
  };
  // Ends the chunk: its dictionary where a page used one, then everything begins anew, the bounds too.
  virtual std::optional<Dictionary> finishChunk() = 0;
  // Of the chunk so far.
  virtual ParquetBounds bounds() const = 0;
};

// For a column of the file and the Arrow type of its leaf.
std::unique_ptr<ColumnValues> makeColumnValues(const parquet::ColumnDescriptor& column,
                                               const arrow::DataType& type);

}  // namespace thalweg
