#include "delta/scan/data_file_reader.h"

#include <arrow/array.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/compute/api_vector.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>

#include "common/error.h"
#include "delta/files/partition_values.h"
#include "types/array_types.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg::delta {
namespace {

ParquetReadOptions::ColumnMatching matchingOf(ColumnMappingMode mode) {
  switch (mode) {
    case ColumnMappingMode::None:
      return ParquetReadOptions::ColumnMatching::IgnoreCase;
    case ColumnMappingMode::Name:
      return ParquetReadOptions::ColumnMatching::ExactName;
    case ColumnMappingMode::Id:
      return ParquetReadOptions::ColumnMatching::FieldId;
  }
  throw internalError("unknown column mapping mode");
}

std::shared_ptr<arrow::Array> positionsInFile(int64_t first, const arrow::Int64Array* wanted, int64_t count) {
  std::vector<int64_t> positions(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    positions[static_cast<size_t>(i)] = first + (wanted ? wanted->Value(i) : i);
  return std::make_shared<arrow::Int64Array>(count, arrow::Buffer::FromVector(std::move(positions)));
}

// Each row's stored value (`stored` may be null), else the file's own: `base`, with the row's place added
// where `positions` are given.
std::shared_ptr<arrow::Array> storedOr(const std::shared_ptr<arrow::Array>& stored,
                                       std::optional<int64_t> base, const arrow::Int64Array* positions,
                                       int64_t rows) {
  const auto* values = static_cast<const arrow::Int64Array*>(stored.get());
  arrow::Int64Builder builder;
  throwIfFailed(builder.Reserve(rows));
  for (int64_t row = 0; row < rows; ++row) {
    if (values && values->IsValid(row)) {
      builder.UnsafeAppend(values->Value(row));
    } else if (base) {
      builder.UnsafeAppend(*base + (positions ? positions->Value(row) : 0));
    } else {
      builder.UnsafeAppendNull();
    }
  }
  return valueOrThrow(builder.Finish());
}

// A file that the log names and the store has not: VACUUM took it away, or somebody did.
std::unique_ptr<ParquetFileReader> openParquet(const Location& location, SchemaPtr schema,
                                               ParquetReadOptions options) {
  try {
    return std::make_unique<ParquetFileReader>(*location.fileSystem, location.path, std::move(schema),
                                               std::move(options));
  } catch (const Error& error) {
    if (error.condition() != "PATH_NOT_FOUND") throw;
    throw Error(
        "FAILED_READ_FILE.FILE_NOT_EXIST",
        "The table's data file " + location.uri() +
            " does not exist: an earlier version's files may have been vacuumed; read a newer version.",
        {{"path", location.uri()}});
  }
}

}  // namespace

DataFileReader::DataFileReader(TableLayoutPtr layout, AddFile file, DataFileReadOptions options)
    : layout_(std::move(layout)), file_(std::move(file)), options_(std::move(options)) {
  std::vector<StructField> logical;
  std::vector<StructField> stored;
  for (const int index : options_.columns) {
    const StructField& field = layout_->schema->fields()[static_cast<size_t>(index)];
    const StructField& physical = layout_->physicalSchema->fields()[static_cast<size_t>(index)];
    logical.push_back(field);
    if (layout_->isPartitionColumn(index)) {
      const auto it = file_.partitionValues.find(physical.name);
      partitionValues_.push_back(
          parsePartitionValue(it == file_.partitionValues.end() ? std::nullopt : it->second, *field.type,
                              field.name, layout_->timeZone));
      storedColumns_.push_back(-1);
    } else {
      partitionValues_.push_back(nullptr);
      storedColumns_.push_back(static_cast<int>(stored.size()));
      stored.push_back(physical);
    }
  }
  if (options_.rowPositions) logical.push_back({"row_index", longType(), false, ""});
  if (options_.rowIds) {
    logical.push_back({"row_id", longType(), true, ""});
    logical.push_back({"row_commit_version", longType(), true, ""});
  }
  if (options_.rowIds && layout_->rowIds) {
    storedRowIds_ = static_cast<int>(stored.size());
    stored.push_back({layout_->rowIds->rowId, longType(), true, ""});
    stored.push_back({layout_->rowIds->rowCommitVersion, longType(), true, ""});
  }
  schema_ = toArrowSchema(*DataType::structOf(std::move(logical)));
  if (file_.deletionVector && !options_.onlyRows)
    deleted_ = readDeletionVector(layout_->table, *file_.deletionVector, [this](std::string_view address) {
      return locateFile(*layout_, std::string(address));
    });
  ParquetReadOptions readOptions;
  readOptions.matching = matchingOf(layout_->mapping);
  readOptions.batchRows = options_.batchRows;
  readOptions.memoryPool = options_.memoryPool;
  reader_ = openParquet(locateFile(*layout_, file_.path), DataType::structOf(std::move(stored)),
                        std::move(readOptions));
}

// Relative to `first`; null where all of them are.
std::shared_ptr<arrow::Int64Array> DataFileReader::wantedRows(int64_t first, int64_t count) const {
  if (!options_.onlyRows) return deleted_ ? deleted_->liveRows(first, count) : nullptr;
  std::vector<int64_t> rows = options_.onlyRows->rowsWithin(first, count);
  const auto size = static_cast<int64_t>(rows.size());
  if (size == count) return nullptr;
  return std::make_shared<arrow::Int64Array>(size, arrow::Buffer::FromVector(std::move(rows)));
}

std::shared_ptr<arrow::RecordBatch> DataFileReader::next() {
  while (true) {
    if (options_.cancellation) options_.cancellation->throwIfCancelled();
    const ParquetBatch batch = reader_->next();
    if (!batch.rows) return nullptr;
    const auto wanted = wantedRows(batch.firstRowIndex, batch.rows->num_rows());
    if (wanted && wanted->length() == 0) continue;
    std::shared_ptr<arrow::RecordBatch> rows = batch.rows;
    if (wanted && rows->num_columns() == 0) {
      rows = arrow::RecordBatch::Make(rows->schema(), wanted->length(), arrow::ArrayVector());
    } else if (wanted) {
      rows = valueOrThrow(
                 arrow::compute::Take(rows, wanted->data(), arrow::compute::TakeOptions::NoBoundsCheck()))
                 .record_batch();
    }
    return assemble(*rows, options_.rowPositions || options_.rowIds
                               ? positionsInFile(batch.firstRowIndex, wanted.get(), rows->num_rows())
                               : nullptr);
  }
}

std::shared_ptr<arrow::RecordBatch> DataFileReader::assemble(
    const arrow::RecordBatch& stored, const std::shared_ptr<arrow::Array>& positions) const {
  arrow::ArrayVector columns;
  for (size_t i = 0; i < storedColumns_.size(); ++i) {
    const auto& type = schema_->field(static_cast<int>(i))->type();
    if (storedColumns_[i] < 0) {
      columns.push_back(valueOrThrow(arrow::MakeArrayFromScalar(*partitionValues_[i], stored.num_rows())));
      continue;
    }
    const auto data = retype(stored.column(storedColumns_[i])->data(), type);
    THALWEG_ASSERT(data != nullptr);
    columns.push_back(arrow::MakeArray(data));
  }
  if (options_.rowPositions) columns.push_back(positions);
  if (options_.rowIds) {
    const auto storedColumn = [&](int index) {
      return storedRowIds_ < 0 ? nullptr : stored.column(storedRowIds_ + index);
    };
    const auto& places = static_cast<const arrow::Int64Array&>(*positions);
    columns.push_back(storedOr(storedColumn(0), file_.baseRowId, &places, stored.num_rows()));
    columns.push_back(storedOr(storedColumn(1), file_.defaultRowCommitVersion, nullptr, stored.num_rows()));
  }
  return arrow::RecordBatch::Make(schema_, stored.num_rows(), std::move(columns));
}

}  // namespace thalweg::delta
