#include "delta/modify/file_rows.h"

#include <algorithm>
#include <numeric>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/compute/api_vector.h>
#include <arrow/record_batch.h>

#include "types/arrow_result.h"

namespace thalweg::delta {
namespace {

AddFile withoutVector(AddFile file) {
  file.deletionVector.reset();
  return file;
}

}  // namespace

std::vector<int64_t> FileRows::liveRows() const {
  if (live) return {live->raw_values(), live->raw_values() + live->length()};
  std::vector<int64_t> all(static_cast<size_t>(rows->num_rows()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

FileRowReader::FileRowReader(TableLayoutPtr layout, AddFile file, std::shared_ptr<const DeletedRows> deleted,
                             DataFileReadOptions options)
    : deleted_(std::move(deleted)),
      reader_(std::move(layout), withoutVector(std::move(file)), std::move(options)) {}

std::optional<FileRows> FileRowReader::next() {
  FileRows part;
  part.rows = reader_.next();
  if (!part.rows) return std::nullopt;
  part.first = numRows_;
  part.live = deleted_->liveRows(part.first, part.rows->num_rows());
  numRows_ += part.rows->num_rows();
  return part;
}

std::shared_ptr<const DeletedRows> deletedRowsOf(const AddFile& file, const TableLayout& layout) {
  if (!file.deletionVector) return DeletedRows::none();
  return readDeletionVector(layout.table, *file.deletionVector, [&](std::string_view address) {
    return locateFile(layout, std::string(address));
  });
}

std::shared_ptr<arrow::RecordBatch> takeRows(const std::shared_ptr<arrow::RecordBatch>& rows,
                                             const std::vector<int64_t>& positions) {
  const auto count = static_cast<int64_t>(positions.size());
  if (count == rows->num_rows() && std::is_sorted(positions.begin(), positions.end())) return rows;
  if (rows->num_columns() == 0) return arrow::RecordBatch::Make(rows->schema(), count, arrow::ArrayVector());
  const arrow::Int64Array indices(count, arrow::Buffer::Wrap(positions));
  const arrow::Datum taken =
      valueOrThrow(arrow::compute::Take(rows, indices.data(), arrow::compute::TakeOptions::NoBoundsCheck()));
  return taken.record_batch();
}

}  // namespace thalweg::delta
