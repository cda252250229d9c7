#include <algorithm>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>

#include "formats/parquet/column_conversion.h"
#include "formats/parquet/legacy_calendar.h"
#include "formats/parquet/parquet_error.h"
#include "formats/parquet/parquet_file.h"
#include "formats/parquet/parquet_input.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

arrow::MemoryPool* poolOr(arrow::MemoryPool* pool) {
  return pool ? pool : arrow::default_memory_pool();
}

// A damaged footer may name any size.
int64_t saturatingSum(int64_t left, int64_t right) {
  int64_t sum = 0;
  return right < 0 || __builtin_add_overflow(left, right, &sum) ? INT64_MAX : sum;
}

void collectLeaves(const parquet::arrow::SchemaField& field, std::vector<int>* leaves) {
  if (field.is_leaf()) leaves->push_back(field.column_index);
  for (const auto& child : field.children) collectLeaves(child, leaves);
}

bool hasInt96(const parquet::SchemaDescriptor& schema) {
  for (int i = 0; i < schema.num_columns(); ++i) {
    if (schema.Column(i)->physical_type() == parquet::Type::INT96) return true;
  }
  return false;
}

}  // namespace

class ParquetFileReader::Implementation {
 public:
  Implementation(FileSystem& fileSystem, std::string path, SchemaPtr wanted, ParquetReadOptions options)
      : path_(std::move(path)),
        wanted_(std::move(wanted)),
        options_(std::move(options)),
        schema_(toArrowSchema(*wanted_)),
        pool_(poolOr(options_.memoryPool)),
        reader_(openParquet(fileSystem, path_, pool_, options_.batchRows)),
        conversion_{options_.matching, &path_, pool_} {
    reading(path_, [&] {
      const auto metadata = reader_->parquet_reader()->metadata();
      numRows_ = rowsOf(*metadata);
      calendar_ = LegacyCalendar::of(*metadata, options_.datetimes, options_.int96, path_);
      conversion_.hasInt96 = hasInt96(*metadata->schema());
      mapColumns();
      boundBatches();
    });
  }

  int64_t numRows() const { return numRows_; }

  ParquetBatch next() {
    return reading(path_, [&]() -> ParquetBatch {
      while (true) {
        if (const auto rows = nextOfGroup()) {
          const int64_t first = nextRow_;
          nextRow_ += rows->num_rows();
          return {rows, first};
        }
        if (!openNextGroup()) return {};
      }
    });
  }

 private:
  void mapColumns() {
    const auto& fields = reader_->manifest().schema_fields;
    arrow::FieldVector arrowFields;
    for (const auto& field : fields) arrowFields.push_back(field.field);
    std::vector<int> chosen;
    for (const StructField& field : wanted_->fields()) {
      const int index = findField(arrowFields, field, options_.matching, path_);
      if (index >= 0 && field.type->id() != TypeId::Void) chosen.push_back(index);
      fileColumns_.push_back(field.type->id() == TypeId::Void ? -1 : index);
    }
    // The library gives chosen columns back in the file's order, each once.
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    for (const int index : chosen) {
      chosenFields_.push_back(&fields[static_cast<size_t>(index)]);
      collectLeaves(*chosenFields_.back(), &leaves_);
    }
    for (int& column : fileColumns_) {
      if (column >= 0)
        column = static_cast<int>(std::lower_bound(chosen.begin(), chosen.end(), column) - chosen.begin());
    }
  }

  void boundBatches() {
    if (options_.batchBytes <= 0 || numRows_ == 0) return;
    const auto metadata = reader_->parquet_reader()->metadata();
    int64_t bytes = 0;
    for (int i = 0; i < metadata->num_row_groups(); ++i) {
      const auto group = metadata->RowGroup(i);
      for (const int leaf : leaves_)
        bytes = saturatingSum(bytes, group->ColumnChunk(leaf)->total_uncompressed_size());
    }
    const int64_t rowBytes = std::max<int64_t>(bytes / numRows_, 1);
    options_.batchRows = std::clamp<int64_t>(options_.batchBytes / rowBytes, 1, options_.batchRows);
    reader_->set_batch_size(options_.batchRows);
  }

  std::shared_ptr<arrow::RecordBatch> nextOfGroup() {
    if (leaves_.empty()) {
      if (rowsWithoutColumns_ == 0) return nullptr;
      const int64_t rows = std::min(rowsWithoutColumns_, options_.batchRows);
      rowsWithoutColumns_ -= rows;
      return assemble(nullptr, rows);
    }
    while (group_) {
      std::shared_ptr<arrow::RecordBatch> batch;
      checkRead(group_->ReadNext(&batch), path_);
      if (!batch) {
        requireRows(nextRow_, groupEnd_, path_);
        group_.reset();
        return nullptr;
      }
      // The library believes what a damaged file says of its pages.
      checkRead(batch->Validate(), path_);
      if (batch->num_rows() > 0) return assemble(batch, batch->num_rows());
    }
    return nullptr;
  }

  std::shared_ptr<arrow::RecordBatch> assemble(const std::shared_ptr<arrow::RecordBatch>& batch,
                                               int64_t rows) {
    arrow::ArrayVector columns;
    for (size_t i = 0; i < fileColumns_.size(); ++i) {
      const StructField& field = wanted_->fields()[i];
      if (fileColumns_[i] >= 0) {
        columns.push_back(conversion_.convert(fileColumn(*batch, fileColumns_[i]), *field.type, field.name));
      } else {
        columns.push_back(checkRead(
            arrow::MakeArrayOfNull(schema_->field(static_cast<int>(i))->type(), rows, pool_), path_));
      }
    }
    return arrow::RecordBatch::Make(schema_, rows, std::move(columns));
  }

  std::shared_ptr<arrow::Array> fileColumn(const arrow::RecordBatch& batch, int column) const {
    if (!calendar_) return batch.column(column);
    return calendar_->rebase(batch.column(column), *chosenFields_[static_cast<size_t>(column)],
                             *reader_->parquet_reader()->metadata()->schema(), pool_);
  }

  bool openNextGroup() {
    const auto metadata = reader_->parquet_reader()->metadata();
    for (; nextGroup_ < metadata->num_row_groups(); ++nextGroup_) {
      const auto group = metadata->RowGroup(nextGroup_);
      nextRow_ = groupEnd_;
      groupEnd_ += group->num_rows();
      if (options_.keepRowGroup && !options_.keepRowGroup(describe(*group))) continue;
      if (leaves_.empty()) {
        rowsWithoutColumns_ = group->num_rows();
      } else {
        group_ = checkRead(reader_->GetRecordBatchReader({nextGroup_}, leaves_), path_);
      }
      ++nextGroup_;
      return true;
    }
    return false;
  }

  ParquetRowGroup describe(const parquet::RowGroupMetaData& group) const {
    ParquetRowGroup described;
    described.numRows = group.num_rows();
    const auto& fields = reader_->manifest().schema_fields;
    arrow::FieldVector arrowFields;
    for (const auto& field : fields) arrowFields.push_back(field.field);
    for (const StructField& field : wanted_->fields()) {
      const int index = findField(arrowFields, field, options_.matching, path_);
      if (index < 0 || !fields[static_cast<size_t>(index)].is_leaf()) continue;
      if (field.type->id() == TypeId::Float || field.type->id() == TypeId::Double) continue;
      const int leaf = fields[static_cast<size_t>(index)].column_index;
      if (calendar_ && calendar_->changes(*group.schema()->Column(leaf))) continue;
      if (auto bounds = boundsOf(group, leaf)) described.columns.emplace(field.name, std::move(*bounds));
    }
    return described;
  }

  std::string path_;
  SchemaPtr wanted_;
  ParquetReadOptions options_;
  std::shared_ptr<arrow::Schema> schema_;
  arrow::MemoryPool* pool_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  ColumnConversion conversion_;
  std::optional<LegacyCalendar> calendar_;  // nothing: days are what they say
  int64_t numRows_ = 0;
  std::vector<const parquet::arrow::SchemaField*> chosenFields_;  // of the library's batches, in order
  std::vector<int> leaves_;                                       // the file's leaf columns to read
  std::vector<int>
      fileColumns_;  // per wanted column: its place in the library's batches, −1 where the file lacks it
  std::unique_ptr<arrow::RecordBatchReader> group_;
  int nextGroup_ = 0;
  int64_t groupEnd_ = 0;  // row index after the row group in hand
  int64_t nextRow_ = 0;
  int64_t rowsWithoutColumns_ = 0;
};

ParquetFileReader::ParquetFileReader(FileSystem& fileSystem, std::string path, SchemaPtr wanted,
                                     ParquetReadOptions options)
    : implementation_(std::make_unique<Implementation>(fileSystem, std::move(path), std::move(wanted),
                                                       std::move(options))) {}

ParquetFileReader::~ParquetFileReader() = default;
int64_t ParquetFileReader::numRows() const {
  return implementation_->numRows();
}
ParquetBatch ParquetFileReader::next() {
  return implementation_->next();
}

}  // namespace thalweg
