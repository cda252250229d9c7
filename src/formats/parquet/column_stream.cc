#include "formats/parquet/column_stream.h"

#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <parquet/file_reader.h>
#include <parquet/statistics.h>

#include "formats/parquet/parquet_error.h"
#include "formats/parquet/parquet_input.h"

namespace thalweg {
namespace {

std::shared_ptr<arrow::Table> checkedTable(arrow::Result<std::shared_ptr<arrow::Table>> read,
                                           const parquet::FileMetaData& metadata, const std::string& path) {
  auto table = checkRead(std::move(read), path);
  checkRead(table->Validate(), path);
  if (table->num_columns() > 0) requireRows(table->num_rows(), rowsOf(metadata), path);
  return table;
}

bool hasOnlyNulls(const parquet::RowGroupMetaData& group, int leaf) {
  const auto chunk = group.ColumnChunk(leaf);
  const auto statistics = chunk->is_stats_set() ? chunk->statistics() : nullptr;
  return statistics && statistics->HasNullCount() && chunk->num_values() == group.num_rows() &&
         statistics->null_count() == group.num_rows();
}

// At least one, so that rows are counted.
std::vector<int> leavesWithValues(const std::vector<int>& leaves, const parquet::FileMetaData& metadata,
                                  const parquet::RowGroupMetaData& group) {
  std::vector<int> chosen;
  for (const int leaf : leaves) {
    // A list without values may be empty instead of null.
    const bool isInList = metadata.schema()->Column(leaf)->max_repetition_level() > 0;
    if (isInList || !hasOnlyNulls(group, leaf)) chosen.push_back(leaf);
  }
  if (chosen.empty()) chosen.push_back(leaves.front());
  return chosen;
}

}  // namespace

std::shared_ptr<arrow::Table> readParquetTable(FileSystem& fileSystem, const std::string& path,
                                               const std::vector<std::string>& columns) {
  const auto reader = openParquet(fileSystem, path, arrow::default_memory_pool(), 1 << 16);
  return reading(path, [&]() -> std::shared_ptr<arrow::Table> {
    const auto metadata = reader->parquet_reader()->metadata();
    if (columns.empty()) return checkedTable(reader->ReadTable(), *metadata, path);
    return checkedTable(reader->ReadTable(leavesBelow(columns, *metadata)), *metadata, path);
  });
}

class ParquetColumnStream::Implementation {
 public:
  Implementation(FileSystem& fileSystem, std::string path, const std::vector<std::string>& columns,
                 int64_t batchRows, std::function<bool(const ParquetRowGroup&)> keepRowGroup,
                 const std::vector<std::string>& boundColumns, NullColumns nullColumns)
      : path_(std::move(path)),
        reader_(openParquet(fileSystem, path_, arrow::default_memory_pool(), batchRows)),
        keepRowGroup_(std::move(keepRowGroup)),
        nullColumns_(nullColumns) {
    reading(path_, [&] {
      metadata_ = reader_->parquet_reader()->metadata();
      numRows_ = rowsOf(*metadata_);
      leaves_ = leavesBelow(columns, *metadata_);
      boundLeaves_ = leavesBelow(boundColumns, *metadata_);
    });
  }

  int64_t numRows() const { return numRows_; }
  int64_t firstRowIndex() const { return firstRow_; }

  std::shared_ptr<arrow::RecordBatch> next() {
    if (leaves_.empty()) return nullptr;
    return reading(path_, [&]() -> std::shared_ptr<arrow::RecordBatch> {
      while (true) {
        if (!group_ && !openNextGroup()) return nullptr;
        std::shared_ptr<arrow::RecordBatch> batch;
        checkRead(group_->ReadNext(&batch), path_);
        if (!batch) {
          requireRows(foundRows_, expectedRows_, path_);
          group_.reset();
        } else if (batch->num_rows() > 0) {
          checkRead(batch->Validate(), path_);
          firstRow_ = groupStart_ + foundRows_;
          foundRows_ += batch->num_rows();
          return batch;
        }
      }
    });
  }

 private:
  bool openNextGroup() {
    for (; nextGroup_ < metadata_->num_row_groups(); ++nextGroup_) {
      const auto group = metadata_->RowGroup(nextGroup_);
      groupStart_ = nextStart_;
      nextStart_ += group->num_rows();
      if (keepRowGroup_ && !keepRowGroup_(describe(*group))) continue;
      foundRows_ = 0;
      expectedRows_ = group->num_rows();
      const auto leaves =
          nullColumns_ == NullColumns::Keep ? leaves_ : leavesWithValues(leaves_, *metadata_, *group);
      group_ = checkRead(reader_->GetRecordBatchReader({nextGroup_++}, leaves), path_);
      return true;
    }
    return false;
  }

  ParquetRowGroup describe(const parquet::RowGroupMetaData& group) const {
    ParquetRowGroup described;
    described.numRows = group.num_rows();
    for (const int leaf : boundLeaves_) {
      if (auto bounds = boundsOf(group, leaf))
        described.columns.emplace(metadata_->schema()->Column(leaf)->path()->ToDotString(),
                                  std::move(*bounds));
    }
    return described;
  }

  std::string path_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::function<bool(const ParquetRowGroup&)> keepRowGroup_;
  NullColumns nullColumns_;
  std::vector<int> leaves_;
  std::vector<int> boundLeaves_;
  std::unique_ptr<arrow::RecordBatchReader> group_;
  int64_t numRows_ = 0;
  int nextGroup_ = 0;
  int64_t nextStart_ = 0;   // row index after the row groups seen
  int64_t groupStart_ = 0;  // of the row group in hand
  int64_t firstRow_ = 0;
  int64_t foundRows_ = 0;     // of the row group in hand
  int64_t expectedRows_ = 0;  // of the row group in hand
};

ParquetColumnStream::ParquetColumnStream(FileSystem& fileSystem, std::string path,
                                         const std::vector<std::string>& columns, int64_t batchRows,
                                         std::function<bool(const ParquetRowGroup&)> keepRowGroup,
                                         const std::vector<std::string>& boundColumns,
                                         NullColumns nullColumns)
    : implementation_(std::make_unique<Implementation>(fileSystem, std::move(path), columns, batchRows,
                                                       std::move(keepRowGroup), boundColumns, nullColumns)) {}

ParquetColumnStream::~ParquetColumnStream() = default;
int64_t ParquetColumnStream::numRows() const {
  return implementation_->numRows();
}
int64_t ParquetColumnStream::firstRowIndex() const {
  return implementation_->firstRowIndex();
}
std::shared_ptr<arrow::RecordBatch> ParquetColumnStream::next() {
  return implementation_->next();
}

}  // namespace thalweg
