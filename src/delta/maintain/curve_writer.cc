#include "delta/maintain/curve_writer.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <arrow/array/concatenate.h>
#include <arrow/record_batch.h>
#include <arrow/util/byte_size.h>

#include "columnar/spill_file.h"
#include "delta/files/data_file_writer.h"
#include "delta/files/row_tracking.h"
#include "delta/modify/file_rows.h"
#include "delta/scan/data_file_reader.h"
#include "types/arrow_result.h"

namespace thalweg::delta {
namespace {

using Batch = std::shared_ptr<arrow::RecordBatch>;

constexpr int64_t kWriteRows = 1 << 16;
constexpr int kMinParts = 16;
constexpr int kMaxParts = 1024;
// Rows take several times their compressed size.
constexpr int64_t kExpansion = 8;

std::vector<int> storedColumns(const Snapshot& snapshot, const TableLayout& layout) {
  std::vector<int> columns;
  for (int i = 0; i < static_cast<int>(snapshot.schema()->fields().size()); ++i) {
    if (!layout.isPartitionColumn(i)) columns.push_back(i);
  }
  return columns;
}

// Paths that begin at a table's column, as paths that begin at its place among `read` ones.
std::vector<CurveColumn> amongRead(std::vector<CurveColumn> columns, const std::vector<int>& read) {
  for (CurveColumn& column : columns) {
    const auto place = std::find(read.begin(), read.end(), column.path.front());
    column.path.front() = static_cast<int>(place - read.begin());
  }
  return columns;
}

// Files of one partition, one after the other, each of about as many rows.
class Output {
 public:
  Output(const DataFileLayout& layout, PartitionValues partition, int64_t rowsPerFile)
      : layout_(layout), partition_(std::move(partition)), rowsPerFile_(rowsPerFile) {}
  ~Output() {
    if (!taken_) removeUncommitted(layout_.table, files_);
  }

  void write(Batch rows) {
    while (rows->num_rows() > 0) {
      if (!writer_) writer_.emplace(layout_, partition_, static_cast<int>(files_.size()));
      const int64_t count = std::min(rows->num_rows(), rowsPerFile_ - writer_->numRows());
      writer_->write(*rows->Slice(0, count));
      rows = rows->Slice(count);
      if (writer_->numRows() == rowsPerFile_) closeFile();
    }
  }

  std::vector<AddFile> take() {
    if (writer_) closeFile();
    taken_ = true;
    return std::move(files_);
  }

 private:
  void closeFile() {
    if (auto file = writer_->close()) files_.push_back(std::move(*file));
    writer_.reset();
  }

  const DataFileLayout& layout_;
  PartitionValues partition_;
  int64_t rowsPerFile_;
  std::optional<DataFileWriter> writer_;
  std::vector<AddFile> files_;
  bool taken_ = false;
};

// Takes rows in any order and gives them to an output in the curve's. Up to a bound they are held in memory;
// beyond, all go to a temporary file, parted by their places, and come back part by part.
class CurveSort {
 public:
  CurveSort(const SpaceCurve& curve, int numParts, int64_t memoryBytes)
      : curve_(curve), cuts_(curve.cuts(numParts)), memoryBytes_(memoryBytes) {}

  void add(Batch rows) {
    if (rows->num_rows() == 0) return;
    heldBytes_ += arrow::util::TotalBufferSize(*rows);
    held_.push_back(std::move(rows));
    if (heldBytes_ > memoryBytes_) spill();
  }

  void finish(Output& output) {
    if (!spilled_) return sortInto(output);
    spill();
    for (int part = 0; part <= static_cast<int>(cuts_.size()); ++part) {
      for (int i = 0; i < spilled_->numBatches(part); ++i) {
        held_.push_back(spilled_->read(part, i));
        heldBytes_ += arrow::util::TotalBufferSize(*held_.back());
        // More rows of like places than expected: sorted piece by piece.
        if (heldBytes_ > 2 * memoryBytes_) sortInto(output);
      }
      sortInto(output);
    }
  }

 private:
  void spill() {
    if (held_.empty()) return;
    if (!spilled_) spilled_.emplace(held_.front()->schema(), static_cast<int>(cuts_.size()) + 1);
    for (const Batch& rows : std::exchange(held_, {})) {
      const std::vector<uint64_t> places = curve_.places(*rows);
      std::vector<std::vector<int64_t>> parts(cuts_.size() + 1);
      for (size_t row = 0; row < places.size(); ++row) {
        const auto part = std::upper_bound(cuts_.begin(), cuts_.end(), places[row]) - cuts_.begin();
        parts[static_cast<size_t>(part)].push_back(static_cast<int64_t>(row));
      }
      for (size_t part = 0; part < parts.size(); ++part) {
        if (!parts[part].empty()) spilled_->write(static_cast<int>(part), *takeRows(rows, parts[part]));
      }
    }
    heldBytes_ = 0;
  }

  void sortInto(Output& output) {
    if (held_.empty()) return;
    const Batch rows = concatenated(std::exchange(held_, {}));
    heldBytes_ = 0;
    const std::vector<int64_t> order = curve_.order(*rows);
    for (auto at = order.begin(); at != order.end();) {
      const auto end = at + std::min<std::ptrdiff_t>(kWriteRows, order.end() - at);
      output.write(takeRows(rows, {at, end}));
      at = end;
    }
  }

  static Batch concatenated(std::vector<Batch> batches) {
    if (batches.size() == 1) return batches.front();
    int64_t numRows = 0;
    for (const Batch& batch : batches) numRows += batch->num_rows();
    arrow::ArrayVector columns;
    for (int i = 0; i < batches.front()->num_columns(); ++i) {
      arrow::ArrayVector parts;
      for (const Batch& batch : batches) parts.push_back(batch->column(i));
      columns.push_back(valueOrThrow(arrow::Concatenate(parts)));
    }
    return arrow::RecordBatch::Make(batches.front()->schema(), numRows, std::move(columns));
  }

  const SpaceCurve& curve_;
  std::vector<uint64_t> cuts_;
  int64_t memoryBytes_;
  std::vector<Batch> held_;
  int64_t heldBytes_ = 0;
  std::optional<SpillFile> spilled_;
};

// Every batch of the files' live rows.
template <typename Visit>
void readAll(const TableLayoutPtr& layout, const std::vector<AddFile>& files,
             const DataFileReadOptions& options, const Visit& visit) {
  for (const AddFile& file : files) {
    DataFileReader reader(layout, file, options);
    while (auto rows = reader.next()) visit(std::move(rows));
  }
}

}  // namespace

std::vector<AddFile> writeAlongCurve(const Snapshot& snapshot, const std::vector<AddFile>& files,
                                     const CurveWriteOptions& options) {
  const TableLayoutPtr readLayout = makeTableLayout(snapshot);
  const DataFileLayout writeLayout =
      movedRowsLayout(snapshot.table(), snapshot.metadata(), snapshot.protocol());
  DataFileReadOptions read;
  read.cancellation = options.cancellation;
  const std::vector<int> all = storedColumns(snapshot, *readLayout);
  for (const CurveColumn& column : options.columns) {
    if (std::find(read.columns.begin(), read.columns.end(), column.path.front()) == read.columns.end())
      read.columns.push_back(column.path.front());
  }
  CurveSample sample(amongRead(options.columns, read.columns));
  readAll(readLayout, files, read, [&](const Batch& rows) { sample.add(*rows); });
  const int64_t numRows = sample.numRows();
  if (numRows == 0) return {};
  const SpaceCurve curve = std::move(sample).finish(amongRead(options.columns, all));

  int64_t totalBytes = 0;
  for (const AddFile& file : files) totalBytes += file.size;
  const int64_t numFiles = std::max<int64_t>(1, totalBytes / std::max<int64_t>(options.targetBytes, 1));
  const auto numParts = static_cast<int>(std::clamp<int64_t>(
      totalBytes * kExpansion / std::max<int64_t>(options.memoryBytes, 1), kMinParts, kMaxParts));
  Output output(writeLayout, files.front().partitionValues, (numRows + numFiles - 1) / numFiles);
  CurveSort sort(curve, numParts, options.memoryBytes);
  read.columns = all;
  read.rowIds = writeLayout.hasRowIds;
  readAll(readLayout, files, read, [&](Batch rows) { sort.add(std::move(rows)); });
  sort.finish(output);
  return output.take();
}

}  // namespace thalweg::delta
