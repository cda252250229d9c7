#include <algorithm>
#include <limits>

#include <arrow/array.h>
#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <arrow/util/compression.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/exception.h>
#include <parquet/file_writer.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include "common/error.h"
#include "types/array_types.h"
#include "formats/parquet/column_chunk.h"
#include "formats/parquet/column_levels.h"
#include "formats/parquet/parquet_file.h"
#include "formats/parquet/stored_schema.h"
#include "storage/storage_error.h"
#include "types/arrow_result.h"
#include "types/schema_json.h"

namespace thalweg {
namespace {

constexpr const char* kRowMetadataKey = "org.apache.spark.sql.parquet.row.metadata";
constexpr std::string_view kMagic = "PAR1";
// Records go to the columns in pieces of this size, after each of which pages and row groups may end.
constexpr int64_t kSliceRows = 4096;
constexpr int64_t kSliceBytes = 2 << 20;

parquet::Compression::type codecOf(ParquetWriteOptions::Compression compression) {
  switch (compression) {
    case ParquetWriteOptions::Compression::Snappy:
      return parquet::Compression::SNAPPY;
    case ParquetWriteOptions::Compression::Zstd:
      return parquet::Compression::ZSTD;
    case ParquetWriteOptions::Compression::Gzip:
      return parquet::Compression::GZIP;
    case ParquetWriteOptions::Compression::Uncompressed:
      return parquet::Compression::UNCOMPRESSED;
  }
  throw internalError("unknown Parquet compression");
}

}  // namespace

class ParquetFileWriter::Implementation {
 public:
  Implementation(std::shared_ptr<arrow::io::OutputStream> stream, std::string path, SchemaPtr schema,
                 ParquetWriteOptions options)
      : stream_(std::move(stream)),
        path_(std::move(path)),
        options_(std::move(options)),
        schema_(storedSchema(*schema)),
        properties_(parquet::WriterProperties::Builder()
                        .compression(codecOf(options_.compression))
                        ->enable_store_decimal_as_integer()
                        ->build()),
        keyValues_(std::make_shared<arrow::KeyValueMetadata>()) {
    keyValues_->Append(kRowMetadataKey, toSchemaJson(*asNullable(schema)));
    for (const auto& [key, value] : options_.keyValues) keyValues_->Append(key, value);
    writing([&] {
      descriptor_.Init(sparkRoot(*schema_, *properties_, path_));
      metadata_ = parquet::FileMetaDataBuilder::Make(&descriptor_, properties_);
      makeColumns();
      throwIfStorageFailed(stream_->Write(kMagic.data(), kMagic.size()), "write", path_);
    });
  }

  ~Implementation() {
    if (!closed_) static_cast<void>(stream_->Abort());
  }

  void write(const arrow::RecordBatch& rows) {
    THALWEG_ASSERT(!closed_ && rows.num_columns() == schema_->num_fields());
    std::vector<std::shared_ptr<arrow::ArrayData>> columns;
    for (int i = 0; i < rows.num_columns(); ++i) columns.push_back(stored(*rows.column(i), i));
    writing([&] {
      for (int64_t start = 0; start < rows.num_rows();) {
        const int64_t count =
            sliceOf(columns, start,
                    std::min({rows.num_rows() - start, kSliceRows, options_.rowGroupRows - groupRows_}));
        for (size_t i = 0; i < columns.size(); ++i) writeColumn(i, *columns[i], start, count);
        start += count;
        groupRows_ += count;
        rows_ += count;
        if (groupRows_ >= options_.rowGroupRows || bufferedBytes() >= options_.rowGroupBytes) endRowGroup();
      }
    });
  }

  int64_t close() {
    THALWEG_ASSERT(!closed_);
    writing([&] {
      endRowGroup();
      const auto metadata = metadata_->Finish(keyValues_);
      parquet::WriteFileMetaData(*metadata, stream_.get());
    });
    const int64_t bytes = writtenBytes();
    closed_ = true;
    throwIfStorageFailed(stream_->Close(), "close", path_);
    return bytes;
  }

  int64_t numRows() const { return rows_; }
  int64_t bufferedBytes() const {
    auto bytes = static_cast<int64_t>(buffers_.plain.capacity() + buffers_.compressed.capacity());
    for (const ColumnChunk& chunk : chunks_) bytes += chunk.heldBytes();
    return bytes;
  }
  int64_t writtenBytes() const {
    const auto position = stream_->Tell();
    throwIfStorageFailed(position.status(), "write", path_);
    return *position;
  }
  std::vector<ParquetColumnStatistics> statistics() const { return statisticsOf(shapes_); }

 private:
  void makeColumns() {
    if (properties_->default_column_properties().compression() != parquet::Compression::UNCOMPRESSED) {
      codec_ =
          valueOrThrow(arrow::util::Codec::Create(properties_->default_column_properties().compression()));
    }
    int leaves = 0;
    for (const auto& field : schema_->fields()) {
      shapes_.emplace_back(*field->type(), leaves);
      leaves += shapes_.back().numLeaves();
      makeChunks(*field->type());
    }
    THALWEG_ASSERT(leaves == descriptor_.num_columns());
  }

  void makeChunks(const arrow::DataType& type) {
    if (type.num_fields() == 0) {
      chunks_.emplace_back(*descriptor_.Column(static_cast<int>(chunks_.size())), type, codec_.get(),
                           buffers_);
    }
    for (const auto& field : type.fields()) makeChunks(*field->type());
  }

  void writeColumn(size_t index, const arrow::ArrayData& column, int64_t start, int64_t count) {
    shapes_[index].split(column, start, count,
                         [&](int leaf, const LeafLevels& levels, const arrow::ArrayData& values) {
                           chunks_[static_cast<size_t>(leaf)].write(levels, values, count);
                         });
  }

  // So many of `count` rows that a page stays in bounds; a single row may be of any size.
  static int64_t sliceOf(const std::vector<std::shared_ptr<arrow::ArrayData>>& columns, int64_t start,
                         int64_t count) {
    const auto heaviest = [&](int64_t rows) {
      int64_t weight = 0;
      for (const auto& column : columns) weight = std::max(weight, weightOf(*column, start, rows));
      return weight;
    };
    while (count > 1 && heaviest(count) > kSliceBytes) count /= 2;
    return count;
  }

  void endRowGroup() {
    if (groupRows_ == 0) return;
    parquet::RowGroupMetaDataBuilder& group = *metadata_->AppendRowGroup();
    group.set_num_rows(groupRows_);
    // The format counts the first 32767 of them.
    const auto ordinal =
        static_cast<int16_t>(rowGroups_ <= std::numeric_limits<int16_t>::max() ? rowGroups_ : -1);
    int64_t bytes = 0;
    for (size_t i = 0; i < chunks_.size(); ++i) {
      bytes += chunks_[i].finish({.stream = stream_,
                                  .metadata = group.NextColumnChunk(),
                                  .compression = codecOf(options_.compression),
                                  .rowGroup = ordinal,
                                  .column = static_cast<int16_t>(i)});
    }
    group.Finish(bytes, ordinal);
    ++rowGroups_;
    groupRows_ = 0;
  }

  std::vector<ParquetColumnStatistics> statisticsOf(const std::vector<ColumnShape>& shapes) const {
    std::vector<ParquetColumnStatistics> statistics;
    for (const ColumnShape& shape : shapes) {
      ParquetColumnStatistics& column = statistics.emplace_back();
      column.nullCount = shape.nullCount();
      if (shape.isLeaf()) column.bounds = chunks_[static_cast<size_t>(shape.leaf())].bounds();
      if (shape.isStruct()) column.members = statisticsOf(shape.children());
    }
    return statistics;
  }

  std::shared_ptr<arrow::ArrayData> stored(const arrow::Array& column, int index) const {
    auto data = retype(column.data(), schema_->field(index)->type());
    if (!data) {
      throw internalError(fmt::format("column {} to be written has type {} and not {}",
                                      schema_->field(index)->name(), column.type()->ToString(),
                                      schema_->field(index)->type()->ToString()));
    }
    return data;
  }

  template <typename Action>
  void writing(Action&& action) {
    try {
      action();
    } catch (const parquet::ParquetException& exception) {
      throw Error("STORAGE_FAILURE", fmt::format("Cannot write {}: {}", path_, exception.what()),
                  {{"path", path_}});
    }
  }

  std::shared_ptr<arrow::io::OutputStream> stream_;
  std::string path_;
  ParquetWriteOptions options_;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<parquet::WriterProperties> properties_;
  std::shared_ptr<arrow::KeyValueMetadata> keyValues_;
  parquet::SchemaDescriptor descriptor_;
  std::unique_ptr<parquet::FileMetaDataBuilder> metadata_;
  std::unique_ptr<arrow::util::Codec> codec_;  // null: uncompressed
  PageBuffers buffers_;
  std::vector<ColumnShape> shapes_;  // one a column
  std::vector<ColumnChunk> chunks_;  // one a leaf
  int64_t rowGroups_ = 0;
  int64_t groupRows_ = 0;
  int64_t rows_ = 0;
  bool closed_ = false;
};

ParquetFileWriter::ParquetFileWriter(std::shared_ptr<arrow::io::OutputStream> stream, std::string path,
                                     SchemaPtr schema, ParquetWriteOptions options)
    : implementation_(std::make_unique<Implementation>(std::move(stream), std::move(path), std::move(schema),
                                                       std::move(options))) {}

ParquetFileWriter::~ParquetFileWriter() = default;
void ParquetFileWriter::write(const arrow::RecordBatch& rows) {
  implementation_->write(rows);
}
int64_t ParquetFileWriter::close() {
  return implementation_->close();
}
int64_t ParquetFileWriter::numRows() const {
  return implementation_->numRows();
}
int64_t ParquetFileWriter::bufferedBytes() const {
  return implementation_->bufferedBytes();
}
int64_t ParquetFileWriter::writtenBytes() const {
  return implementation_->writtenBytes();
}
std::vector<ParquetColumnStatistics> ParquetFileWriter::statistics() const {
  return implementation_->statistics();
}

}  // namespace thalweg
