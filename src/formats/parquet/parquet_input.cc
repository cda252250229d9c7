#include "formats/parquet/parquet_input.h"

#include <algorithm>

#include <arrow/compute/initialize.h>
#include <arrow/io/interfaces.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/properties.h>
#include <parquet/statistics.h>

#include "formats/parquet/parquet_error.h"

namespace thalweg {
namespace {

constexpr int64_t kReadBufferBytes = 256 << 10;

// Casts live in a library of their own that registers itself once.
void initializeCompute() {
  static const arrow::Status status = arrow::compute::Initialize();
  if (!status.ok()) throw internalError(status.ToString());
}

bool selects(const std::string& column, const std::string& leafPath) {
  return leafPath == column ||
         (leafPath.size() > column.size() && leafPath.starts_with(column) && leafPath[column.size()] == '.');
}

}  // namespace

std::unique_ptr<parquet::arrow::FileReader> openParquet(FileSystem& fileSystem, const std::string& path,
                                                        arrow::MemoryPool* pool, int64_t batchRows) {
  initializeCompute();
  const auto file = fileSystem.openInput(path);
  return reading(path, [&] {
    parquet::ReaderProperties properties(pool);
    properties.enable_buffered_stream();
    properties.set_buffer_size(kReadBufferBytes);
    parquet::ArrowReaderProperties arrowProperties(/*use_threads=*/false);
    arrowProperties.set_pre_buffer(false);
    arrowProperties.set_batch_size(batchRows);
    arrowProperties.set_coerce_int96_timestamp_unit(arrow::TimeUnit::MICRO);
    return checkRead(parquet::arrow::FileReader::Make(
                         pool, parquet::ParquetFileReader::Open(file, properties), arrowProperties),
                     path);
  });
}

int64_t rowsOf(const parquet::FileMetaData& metadata) {
  int64_t rows = 0;
  for (int i = 0; i < metadata.num_row_groups(); ++i) {
    const int64_t more = metadata.RowGroup(i)->num_rows();
    if (more < 0 || more > INT64_MAX - rows)
      throw parquet::ParquetException("a row group's number of rows is impossible");
    rows += more;
  }
  return rows;
}

void requireRows(int64_t found, int64_t expected, const std::string& path) {
  if (found != expected) {
    throw parquetReadError(
        path, "it has " + std::to_string(found) + " rows where its footer says " + std::to_string(expected));
  }
}

std::vector<int> leavesBelow(const std::vector<std::string>& columns, const parquet::FileMetaData& metadata) {
  std::vector<int> leaves;
  const parquet::SchemaDescriptor& schema = *metadata.schema();
  for (int i = 0; i < schema.num_columns(); ++i) {
    const std::string leafPath = schema.Column(i)->path()->ToDotString();
    if (std::any_of(columns.begin(), columns.end(),
                    [&](const auto& column) { return selects(column, leafPath); })) {
      leaves.push_back(i);
    }
  }
  return leaves;
}

std::optional<ParquetColumnBounds> boundsOf(const parquet::RowGroupMetaData& group, int leaf) {
  const auto chunk = group.ColumnChunk(leaf);
  const auto statistics = chunk->is_stats_set() ? chunk->statistics() : nullptr;
  if (!statistics) return std::nullopt;
  ParquetColumnBounds bounds;
  if (statistics->HasNullCount()) bounds.nullCount = statistics->null_count();
  if (statistics->HasMinMax()) {
    // Statistics that the library cannot express are as good as none.
    if (!parquet::arrow::StatisticsAsScalars(*statistics, &bounds.min, &bounds.max).ok())
      bounds.min = bounds.max = nullptr;
  }
  return bounds;
}

}  // namespace thalweg
