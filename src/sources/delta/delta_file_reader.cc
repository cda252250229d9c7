#include "sources/delta/delta_file_reader.h"

#include <arrow/api.h>

#include "sources/delta/delta_metadata_column.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

// The rows that a change of deletion vectors touched.
std::shared_ptr<const delta::DeletedRows> touchedRows(const delta::TableLayout& layout,
                                                      const delta::ChangedFile& file) {
  const auto resolve = [&](std::string_view address) {
    return delta::locateFile(layout, std::string(address));
  };
  auto rows = delta::readDeletionVector(layout.table, *file.rowsOf, resolve);
  if (!file.butNotOf) return rows;
  return rows->without(*delta::readDeletionVector(layout.table, *file.butNotOf, resolve));
}

}  // namespace

// Its place among the columns that are read; one that is there already is not read twice.
int DeltaFileReader::storedColumn(int layoutColumn) {
  const auto found = std::find(layoutColumns_.begin(), layoutColumns_.end(), layoutColumn);
  if (found != layoutColumns_.end()) return static_cast<int>(found - layoutColumns_.begin());
  layoutColumns_.push_back(layoutColumn);
  return static_cast<int>(layoutColumns_.size()) - 1;
}

DeltaFileReader::DeltaFileReader(DeltaScanPtr scan, const delta::ChangedFile& file,
                                 const ReadRequest& request)
    : scan_(std::move(scan)), file_(file.file) {
  delta::DataFileReadOptions options;
  std::vector<StructField> fields;
  for (const int column : request.columns) {
    fields.push_back(scan_->schema->fields()[static_cast<size_t>(column)]);
    const int change = column - scan_->tableColumns;
    if (change < 0) {
      columns_.push_back({storedColumn(column), nullptr});
    } else if (column == scan_->metadataColumn()) {
      options.rowPositions = true;
      options.rowIds = scan_->rowTracking;
      columns_.push_back({});
    } else if (change == 0) {
      if (file.changeType) {
        columns_.push_back({-1, std::make_shared<arrow::StringScalar>(*file.changeType)});
      } else {
        columns_.push_back({storedColumn(scan_->storedChangeType), nullptr});
      }
    } else if (change == 1) {
      columns_.push_back({-1, std::make_shared<arrow::Int64Scalar>(file.version)});
    } else {
      columns_.push_back({-1, std::make_shared<arrow::TimestampScalar>(file.timestampMs * 1000,
                                                                       toArrowType(*timestampType()))});
    }
  }
  schema_ = toArrowSchema(*DataType::structOf(std::move(fields)));
  if (file.rowsOf) {
    options.onlyRows = touchedRows(*scan_->layout, file);
    if (options.onlyRows->cardinality() == 0) return;
  }
  options.columns = layoutColumns_;
  options.batchRows = request.maxBatchRows;
  options.memoryPool = request.memoryPool;
  options.cancellation = request.cancellation;
  reader_.emplace(scan_->layout, file_, std::move(options));
}

std::shared_ptr<arrow::RecordBatch> DeltaFileReader::next() {
  if (!reader_) return nullptr;
  const auto batch = reader_->next();
  if (!batch) return nullptr;
  const int64_t rows = batch->num_rows();
  arrow::ArrayVector columns;
  for (const Column& column : columns_) {
    if (column.stored >= 0) {
      columns.push_back(batch->column(column.stored));
    } else if (column.constant) {
      columns.push_back(valueOrThrow(arrow::MakeArrayFromScalar(*column.constant, rows)));
    } else {
      auto next = static_cast<int>(layoutColumns_.size());
      const auto positions = batch->column(next++);
      std::optional<TrackedRows> tracked;
      if (scan_->rowTracking) tracked = TrackedRows{batch->column(next), batch->column(next + 1)};
      columns.push_back(
          deltaMetadataArray(delta::locateFile(*scan_->layout, file_.path), file_, positions, tracked));
    }
  }
  return arrow::RecordBatch::Make(schema_, rows, std::move(columns));
}

}  // namespace thalweg
