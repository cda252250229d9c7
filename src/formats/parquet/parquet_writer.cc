#include <arrow/array.h>
#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/schema.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>
#include <parquet/file_writer.h>
#include <parquet/properties.h>

#include "common/error.h"
#include "formats/parquet/array_types.h"
#include "formats/parquet/parquet_file.h"
#include "storage/storage_error.h"
#include "types/arrow_types.h"
#include "types/schema_json.h"

namespace thalweg {
namespace {

constexpr const char* kRowMetadataKey = "org.apache.spark.sql.parquet.row.metadata";
constexpr int64_t kSliceRows = 16384;  // how often the buffered bytes are looked at
constexpr int64_t kPageBytes = 1 << 20;
constexpr int64_t kDictionaryBytes = 128 << 10;

// As toArrowType with field ids kept, so that the library writes them.
std::shared_ptr<arrow::DataType> storedType(const DataType& type);

std::shared_ptr<arrow::Field> storedField(const StructField& field) {
  std::shared_ptr<const arrow::KeyValueMetadata> metadata;
  if (const auto id = parquetFieldId(field)) {
    metadata = arrow::key_value_metadata({"PARQUET:field_id"}, {std::to_string(*id)});
  }
  return arrow::field(field.name, storedType(*field.type), /*nullable=*/true, metadata);
}

std::shared_ptr<arrow::DataType> storedType(const DataType& type) {
  switch (type.id()) {
    case TypeId::Void:
    case TypeId::Variant:
    case TypeId::DayTimeInterval:
    case TypeId::YearMonthInterval:
    case TypeId::CalendarInterval:
      throw unsupported("writing a column of type " + type.simpleString() + " to Parquet");
    case TypeId::Array:
      return arrow::list(arrow::field("element", storedType(*type.element())));
    case TypeId::Map:
      return arrow::map(storedType(*type.key()), arrow::field("value", storedType(*type.value())));
    case TypeId::Struct: {
      arrow::FieldVector fields;
      for (const StructField& field : type.fields()) fields.push_back(storedField(field));
      return arrow::struct_(std::move(fields));
    }
    default:
      return toArrowType(type);
  }
}

std::shared_ptr<arrow::Schema> storedSchema(const Schema& schema) {
  arrow::FieldVector fields;
  for (const StructField& field : schema.fields()) fields.push_back(storedField(field));
  return arrow::schema(std::move(fields));
}

arrow::Compression::type codecOf(ParquetWriteOptions::Compression compression) {
  switch (compression) {
    case ParquetWriteOptions::Compression::Snappy:
      return arrow::Compression::SNAPPY;
    case ParquetWriteOptions::Compression::Zstd:
      return arrow::Compression::ZSTD;
    case ParquetWriteOptions::Compression::Uncompressed:
      return arrow::Compression::UNCOMPRESSED;
  }
  throw internalError("unknown Parquet compression");
}

std::shared_ptr<parquet::WriterProperties> writerProperties(const arrow::Schema& schema,
                                                            const ParquetWriteOptions& options,
                                                            arrow::MemoryPool* pool) {
  parquet::WriterProperties::Builder builder;
  builder.memory_pool(pool)
      ->compression(codecOf(options.compression))
      ->data_pagesize(kPageBytes)
      ->dictionary_pagesize_limit(kDictionaryBytes)
      ->max_row_group_length(options.rowGroupRows)
      ->enable_store_decimal_as_integer();
  // Times rarely repeat and come nearly in order: differences are smaller than a dictionary, and found
  // without hashing.
  for (const auto& field : schema.fields()) {
    // The library keys columns by dotted path, under which a name with a dot may be another, nested column
    // too.
    if (field->type()->id() != arrow::Type::TIMESTAMP || field->name().find('.') != std::string::npos)
      continue;
    builder.disable_dictionary(field->name())
        ->encoding(field->name(), parquet::Encoding::DELTA_BINARY_PACKED);
  }
  return builder.build();
}

// The library's schema under Spark's root name.
std::shared_ptr<parquet::schema::GroupNode> sparkRoot(const arrow::Schema& schema,
                                                      const parquet::WriterProperties& properties,
                                                      const parquet::ArrowWriterProperties& arrowProperties,
                                                      const std::string& path) {
  std::shared_ptr<parquet::SchemaDescriptor> descriptor;
  throwIfStorageFailed(parquet::arrow::ToParquetSchema(&schema, properties, arrowProperties, &descriptor),
                       "write", path);
  parquet::schema::NodeVector fields;
  const parquet::schema::GroupNode& root = *descriptor->group_node();
  for (int i = 0; i < root.field_count(); ++i) fields.push_back(root.field(i));
  return std::static_pointer_cast<parquet::schema::GroupNode>(
      parquet::schema::GroupNode::Make("spark_schema", parquet::Repetition::REQUIRED, fields));
}

}  // namespace

class ParquetFileWriter::Implementation {
 public:
  Implementation(std::shared_ptr<arrow::io::OutputStream> stream, std::string path, SchemaPtr schema,
                 ParquetWriteOptions options)
      : stream_(std::move(stream)),
        path_(std::move(path)),
        options_(std::move(options)),
        pool_(arrow::default_memory_pool()),
        schema_(storedSchema(*schema)) {
    const auto properties = writerProperties(*schema_, options_, &pool_);
    const auto arrowProperties = parquet::ArrowWriterProperties::Builder().set_use_threads(false)->build();
    auto keyValues = std::make_shared<arrow::KeyValueMetadata>();
    keyValues->Append(kRowMetadataKey, toSchemaJson(*asNullable(schema)));
    for (const auto& [key, value] : options_.keyValues) keyValues->Append(key, value);
    writing([&] {
      const auto root = sparkRoot(*schema_, *properties, *arrowProperties, path_);
      auto file = parquet::ParquetFileWriter::Open(stream_, root, properties, keyValues);
      return parquet::arrow::FileWriter::Make(&pool_, std::move(file), schema_, arrowProperties, &writer_);
    });
  }

  ~Implementation() {
    if (closed_) return;
    try {
      static_cast<void>(stream_->Abort());
      writer_.reset();
    } catch (...) {
      // The footer that the library tries to write cannot go anywhere.
    }
  }

  void write(const arrow::RecordBatch& rows) {
    THALWEG_ASSERT(!closed_ && rows.num_columns() == schema_->num_fields());
    arrow::ArrayVector columns;
    for (int i = 0; i < rows.num_columns(); ++i) columns.push_back(stored(*rows.column(i), i));
    const auto batch = arrow::RecordBatch::Make(schema_, rows.num_rows(), std::move(columns));
    for (int64_t start = 0; start < batch->num_rows(); start += kSliceRows) {
      const auto slice = batch->Slice(start, kSliceRows);
      if (groupRows_ == 0 || groupRows_ + slice->num_rows() > options_.rowGroupRows ||
          pool_.bytes_allocated() >= options_.rowGroupBytes) {
        writing([&] { return writer_->NewBufferedRowGroup(); });
        groupRows_ = 0;
      }
      writing([&] { return writer_->WriteRecordBatch(*slice); });
      groupRows_ += slice->num_rows();
      rows_ += slice->num_rows();
    }
  }

  int64_t close() {
    THALWEG_ASSERT(!closed_);
    writing([&] { return writer_->Close(); });
    closed_ = true;
    const int64_t bytes = writtenBytes();
    throwIfStorageFailed(stream_->Close(), "close", path_);
    return bytes;
  }

  int64_t numRows() const { return rows_; }
  int64_t bufferedBytes() const { return pool_.bytes_allocated(); }
  int64_t writtenBytes() const {
    const auto position = stream_->Tell();
    throwIfStorageFailed(position.status(), "write", path_);
    return *position;
  }

 private:
  std::shared_ptr<arrow::Array> stored(const arrow::Array& column, int index) const {
    const auto data = retype(column.data(), schema_->field(index)->type());
    if (!data) {
      throw internalError(fmt::format("column {} to be written has type {} and not {}",
                                      schema_->field(index)->name(), column.type()->ToString(),
                                      schema_->field(index)->type()->ToString()));
    }
    return arrow::MakeArray(data);
  }

  template <typename Action>
  void writing(Action&& action) {
    try {
      throwIfStorageFailed(action(), "write", path_);
    } catch (const parquet::ParquetException& exception) {
      throw Error("STORAGE_FAILURE", fmt::format("Cannot write {}: {}", path_, exception.what()),
                  {{"path", path_}});
    }
  }

  std::shared_ptr<arrow::io::OutputStream> stream_;
  std::string path_;
  ParquetWriteOptions options_;
  arrow::ProxyMemoryPool pool_;
  std::shared_ptr<arrow::Schema> schema_;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
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

}  // namespace thalweg
