// The rows of a data file where they lie in it, for operations that say which of them go.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <arrow/type_fwd.h>

#include "delta/scan/data_file_reader.h"
#include "delta/scan/deletion_vector.h"

namespace thalweg::delta {

// A part of a file's rows, deleted ones too.
struct FileRows {
  std::shared_ptr<arrow::RecordBatch> rows;
  int64_t first = 0;  // position of the first of them in the file
  // Which of them live, relative to `first`, ascending; null: all of them.
  std::shared_ptr<arrow::Int64Array> live;

  // The positions, relative to `first`, that live.
  std::vector<int64_t> liveRows() const;
};

// Reads a file from front to end, with no row left out. Used by one thread.
class FileRowReader {
 public:
  // `deleted` is what the file's vector says.
  FileRowReader(TableLayoutPtr layout, AddFile file, std::shared_ptr<const DeletedRows> deleted,
                DataFileReadOptions options);

  // Nothing at the end. Throws as DataFileReader.
  std::optional<FileRows> next();
  // Those that were read so far.
  int64_t numRows() const { return numRows_; }

 private:
  std::shared_ptr<const DeletedRows> deleted_;
  DataFileReader reader_;
  int64_t numRows_ = 0;
};

// What a file's vector says; the empty set where it has none.
std::shared_ptr<const DeletedRows> deletedRowsOf(const AddFile& file, const TableLayout& layout);

// These rows of a batch, in this order.
std::shared_ptr<arrow::RecordBatch> takeRows(const std::shared_ptr<arrow::RecordBatch>& rows,
                                             const std::vector<int64_t>& positions);

}  // namespace thalweg::delta
