#include <arrow/array.h>
#include <arrow/compute/initialize.h>
#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/statistics.h>
#include <nlohmann/json.hpp>

#include "formats/parquet/column_conversion.h"
#include "formats/parquet/column_stream.h"
#include "formats/parquet/parquet_error.h"
#include "formats/parquet/parquet_file.h"
#include "types/arrow_types.h"
#include "types/schema_json.h"

namespace thalweg {
namespace {

constexpr int64_t kReadBufferBytes = 256 << 10;

arrow::MemoryPool* poolOr(arrow::MemoryPool* pool) {
  return pool ? pool : arrow::default_memory_pool();
}

// Casts live in a library of their own that registers itself once.
void initializeCompute() {
  static const arrow::Status status = arrow::compute::Initialize();
  if (!status.ok()) throw internalError(status.ToString());
}

std::unique_ptr<parquet::arrow::FileReader> openReader(FileSystem& fileSystem, const std::string& path,
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

// The rows of the row groups: what the footer says of the whole file is not used for reading.
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

// A damaged footer may name any size.
int64_t saturatingSum(int64_t left, int64_t right) {
  int64_t sum = 0;
  return right < 0 || __builtin_add_overflow(left, right, &sum) ? INT64_MAX : sum;
}

// The library ends at the last value that it finds, also where pages of a damaged file are lost.
void requireRows(int64_t found, int64_t expected, const std::string& path) {
  if (found != expected) {
    throw parquetReadError(
        path, "it has " + std::to_string(found) + " rows where its footer says " + std::to_string(expected));
  }
}

std::shared_ptr<arrow::Table> checkedTable(arrow::Result<std::shared_ptr<arrow::Table>> read,
                                           const parquet::FileMetaData& metadata, const std::string& path) {
  auto table = checkRead(std::move(read), path);
  checkRead(table->Validate(), path);
  if (table->num_columns() > 0) requireRows(table->num_rows(), rowsOf(metadata), path);
  return table;
}

void collectLeaves(const parquet::arrow::SchemaField& field, std::vector<int>* leaves) {
  if (field.is_leaf()) leaves->push_back(field.column_index);
  for (const auto& child : field.children) collectLeaves(child, leaves);
}

bool selects(const std::string& column, const std::string& leafPath) {
  return leafPath == column ||
         (leafPath.size() > column.size() && leafPath.starts_with(column) && leafPath[column.size()] == '.');
}

// The leaf columns at and below the named ones.
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

// Nothing where the footer says nothing of the leaf column.
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

std::optional<SchemaPtr> sparkSchemaOf(const parquet::FileMetaData& metadata) {
  if (!metadata.key_value_metadata()) return std::nullopt;
  const auto json = metadata.key_value_metadata()->Get("org.apache.spark.sql.parquet.row.metadata");
  if (!json.ok()) return std::nullopt;
  return parseSchemaJson(*json);
}

DataTypePtr sparkTypeOf(const parquet::arrow::SchemaField& field, const parquet::SchemaDescriptor& schema);

// Spark's converter of Parquet's primitive types. What a writer's own notes (ARROW:schema) make of them does
// not count.
DataTypePtr sparkLeafType(const arrow::DataType& type, const parquet::ColumnDescriptor& leaf) {
  if (leaf.physical_type() == parquet::Type::INT96) return timestampType();
  switch (type.id()) {
    case arrow::Type::UINT8:
      return shortType();
    case arrow::Type::UINT16:
      return intType();
    case arrow::Type::UINT32:
      return longType();
    case arrow::Type::UINT64:
      return DataType::decimal(20, 0);
    case arrow::Type::DICTIONARY:
      return fromArrowType(*static_cast<const arrow::DictionaryType&>(type).value_type());
    default:
      return fromArrowType(type);
  }
}

DataTypePtr sparkStructType(const std::vector<parquet::arrow::SchemaField>& fields,
                            const parquet::SchemaDescriptor& schema) {
  std::vector<StructField> members;
  for (const auto& field : fields)
    members.push_back({field.field->name(), sparkTypeOf(field, schema), /*nullable=*/true});
  return DataType::structOf(std::move(members));
}

DataTypePtr sparkTypeOf(const parquet::arrow::SchemaField& field, const parquet::SchemaDescriptor& schema) {
  const arrow::DataType& type = *field.field->type();
  if (field.is_leaf()) return sparkLeafType(type, *schema.Column(field.column_index));
  switch (type.id()) {
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::FIXED_SIZE_LIST:
      return DataType::array(sparkTypeOf(field.children.at(0), schema), /*containsNull=*/true);
    case arrow::Type::MAP: {
      const auto& entry = field.children.at(0).children;
      return DataType::map(sparkTypeOf(entry.at(0), schema), sparkTypeOf(entry.at(1), schema),
                           /*valueContainsNull=*/true);
    }
    default:
      return sparkStructType(field.children, schema);
  }
}

}  // namespace

std::optional<int32_t> parquetFieldId(const StructField& field) {
  if (field.metadata.find(kParquetFieldIdKey) == std::string::npos) return std::nullopt;
  const auto json = nlohmann::json::parse(field.metadata, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const auto it = json.find(kParquetFieldIdKey);
  if (it == json.end() || !it->is_number_integer()) return std::nullopt;
  return it->get<int32_t>();
}

std::shared_ptr<arrow::Table> readParquetTable(FileSystem& fileSystem, const std::string& path,
                                               const std::vector<std::string>& columns) {
  const auto reader = openReader(fileSystem, path, arrow::default_memory_pool(), 1 << 16);
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
        reader_(openReader(fileSystem, path_, arrow::default_memory_pool(), batchRows)),
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

SchemaPtr readParquetSchema(FileSystem& fileSystem, const std::string& path) {
  const auto reader = openReader(fileSystem, path, arrow::default_memory_pool(), 1);
  return reading(path, [&]() -> SchemaPtr {
    const auto metadata = reader->parquet_reader()->metadata();
    if (auto schema = sparkSchemaOf(*metadata)) return *schema;
    return sparkStructType(reader->manifest().schema_fields, *metadata->schema());
  });
}

class ParquetFileReader::Implementation {
 public:
  Implementation(FileSystem& fileSystem, std::string path, SchemaPtr wanted, ParquetReadOptions options)
      : path_(std::move(path)),
        wanted_(std::move(wanted)),
        options_(std::move(options)),
        schema_(toArrowSchema(*wanted_)),
        pool_(poolOr(options_.memoryPool)),
        reader_(openReader(fileSystem, path_, pool_, options_.batchRows)),
        conversion_{options_.matching, &path_, pool_} {
    reading(path_, [&] {
      numRows_ = rowsOf(*reader_->parquet_reader()->metadata());
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
      const int index = findField(arrowFields, field, options_.matching);
      if (index >= 0 && field.type->id() != TypeId::Void) chosen.push_back(index);
      fileColumns_.push_back(field.type->id() == TypeId::Void ? -1 : index);
    }
    // The library gives chosen columns back in the file's order, each once.
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    for (const int index : chosen) collectLeaves(fields[static_cast<size_t>(index)], &leaves_);
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
        columns.push_back(conversion_.convert(batch->column(fileColumns_[i]), *field.type, field.name));
      } else {
        columns.push_back(checkRead(
            arrow::MakeArrayOfNull(schema_->field(static_cast<int>(i))->type(), rows, pool_), path_));
      }
    }
    return arrow::RecordBatch::Make(schema_, rows, std::move(columns));
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
      const int index = findField(arrowFields, field, options_.matching);
      if (index < 0 || !fields[static_cast<size_t>(index)].is_leaf()) continue;
      if (field.type->id() == TypeId::Float || field.type->id() == TypeId::Double) continue;
      if (auto bounds = boundsOf(group, fields[static_cast<size_t>(index)].column_index))
        described.columns.emplace(field.name, std::move(*bounds));
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
  int64_t numRows_ = 0;
  std::vector<int> leaves_;  // the file's leaf columns to read
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
