// The library's public face: include/thalweg/delta.h over the folders of delta/.
#include "thalweg/delta.h"

#include <algorithm>
#include <functional>
#include <thread>
#include <utility>
#include <variant>

#include <arrow/api.h>
#include <arrow/c/bridge.h>
#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/json_text.h"
#include "common/options.h"
#include "common/task_pool.h"
#include "common/uuid.h"
#include "delta/commit/transaction.h"
#include "delta/files/column_mapping.h"
#include "delta/files/partition_values.h"
#include "delta/files/partitioned_writer.h"
#include "delta/files/row_rules.h"
#include "delta/files/row_tracking.h"
#include "delta/files/schema_enforcement.h"
#include "delta/maintain/optimize.h"
#include "delta/maintain/optimize_operation.h"
#include "delta/maintain/restore.h"
#include "delta/maintain/vacuum.h"
#include "delta/scan/data_file_reader.h"
#include "delta/scan/file_listing.h"
#include "delta/scan/row_count.h"
#include "delta/snapshot/clustering.h"
#include "delta/snapshot/delta_log.h"
#include "delta/snapshot/metadata_rules.h"
#include "delta/snapshot/protocol_choice.h"
#include "delta/snapshot/statistics_columns.h"
#include "delta/snapshot/table_features.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"
#include "types/schema_json.h"

namespace thalweg::api {
namespace {

using delta::DeltaLog;
using delta::SnapshotPtr;

// What every function of the header throws is a DeltaError.
template <typename Function>
auto guarded(const Function& function) {
  try {
    return function();
  } catch (...) {
    const Error error = currentExceptionAsError();
    throw DeltaError(error.condition(), error.sqlState(), error.message());
  }
}

void initializeArrow() {
  static const arrow::Status status = arrow::compute::Initialize();
  throwIfFailed(status);
}

std::shared_ptr<DeltaLog> logOf(const std::string& path) {
  initializeArrow();
  return std::make_shared<DeltaLog>(FileSystemRegistry().resolve(path));
}

[[noreturn]] void throwNoTable(const Location& table) {
  const std::string uri = table.uri();
  if (!table.fileSystem->stat(table.path))
    throw Error("DELTA_PATH_DOES_NOT_EXIST", "There is no folder " + uri + ".", {{"path", uri}});
  throw Error("DELTA_MISSING_DELTA_TABLE", uri + " is no Delta table: it has no _delta_log with a version.",
              {{"tableName", uri}});
}

SnapshotPtr newestOf(DeltaLog& log) {
  SnapshotPtr snapshot = log.update();
  if (!snapshot) throwNoTable(log.table());
  return snapshot;
}

// The live rows of a version, file by file.
class ScanReader final : public arrow::RecordBatchReader {
 public:
  ScanReader(SnapshotPtr snapshot, std::vector<int> columns)
      : layout_(delta::makeTableLayout(*snapshot)), files_(snapshot->liveFiles(delta::Statistics::LeftOut)) {
    options_.columns = std::move(columns);
    arrow::FieldVector fields;
    for (const int column : options_.columns)
      fields.push_back(toArrowField(snapshot->schema()->fields()[static_cast<size_t>(column)]));
    schema_ = arrow::schema(std::move(fields));
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    try {
      *batch = next();
      return arrow::Status::OK();
    } catch (...) {
      return arrow::Status::IOError(currentExceptionAsError().message());
    }
  }

 private:
  std::shared_ptr<arrow::RecordBatch> next() {
    while (true) {
      if (!reader_) {
        if (nextFile_ == files_.size()) return nullptr;
        reader_.emplace(layout_, files_[nextFile_++], options_);
      }
      if (auto batch = reader_->next())
        return arrow::RecordBatch::Make(schema_, batch->num_rows(), batch->columns());
      reader_.reset();
    }
  }

  delta::TableLayoutPtr layout_;
  std::vector<delta::AddFile> files_;
  delta::DataFileReadOptions options_;
  std::shared_ptr<arrow::Schema> schema_;
  size_t nextFile_ = 0;
  std::optional<delta::DataFileReader> reader_;
};

std::vector<int> columnsOf(const Schema& schema, const std::vector<std::string>& names) {
  std::vector<int> columns;
  for (const std::string& name : names) {
    columns.push_back(schema.fieldIndex(name, /*caseSensitive=*/false));
    if (columns.back() < 0) {
      throw Error("UNRESOLVED_COLUMN.WITHOUT_SUGGESTION", "The table has no column '" + name + "'.",
                  {{"objectName", "`" + name + "`"}});
    }
  }
  if (names.empty()) {
    for (size_t i = 0; i < schema.fields().size(); ++i) columns.push_back(static_cast<int>(i));
  }
  return columns;
}

// Foreign Arrow columns in the types that the library has of them.
std::shared_ptr<arrow::RecordBatch> inOwnTypes(const arrow::RecordBatch& rows, const arrow::Schema& own) {
  throwIfFailed(rows.Validate());
  arrow::ArrayVector columns;
  for (int i = 0; i < rows.num_columns(); ++i) {
    auto column = rows.column(i);
    const auto& type = own.field(i)->type();
    if (!column->type()->Equals(*type)) column = valueOrThrow(arrow::compute::Cast(*column, type));
    columns.push_back(std::move(column));
  }
  return arrow::RecordBatch::Make(arrow::schema(own.fields()), rows.num_rows(), std::move(columns));
}

DeltaFile fileOf(const delta::AddFile& add) {
  return {add.path,
          add.size,
          add.modificationTime,
          add.partitionValues,
          add.stats,
          add.deletionVector ? add.deletionVector->cardinality : 0};
}

// The comparisons that choose a partition. Throws Error
// DELTA_NON_PARTITION_COLUMN_REFERENCE for others.
std::vector<ColumnPredicate> equals(const PartitionValues& partition, const delta::Metadata& metadata) {
  std::vector<ColumnPredicate> predicates;
  const SchemaPtr schema = metadata.schema();
  for (const auto& [name, text] : partition) {
    const auto& columns = metadata.partitionColumns;
    const bool partitions =
        std::any_of(columns.begin(), columns.end(),
                    [&column = name](const std::string& one) { return equalsIgnoreCase(one, column); });
    if (!partitions) {
      throw Error(
          "DELTA_NON_PARTITION_COLUMN_REFERENCE",
          "The table is not partitioned by '" + name + "'; files are listed by values of partition columns.",
          {{"columnName", name}, {"columnList", toJsonText(nlohmann::json(columns))}});
    }
    const StructField& field =
        schema->fields()[static_cast<size_t>(schema->fieldIndex(name, /*caseSensitive=*/false))];
    auto literal = delta::parsePartitionValue(text, *field.type, name, TimeZone());
    if (literal->is_valid)
      predicates.push_back({name, ColumnPredicate::Op::Equal, std::move(literal)});
    else
      predicates.push_back({name, ColumnPredicate::Op::IsNull});
  }
  return predicates;
}

// Dotted names of columns, with back-ticks where they need them.
std::vector<std::vector<std::string>> pathsOf(const std::vector<std::string>& columns) {
  std::vector<std::vector<std::string>> paths;
  for (const std::string& column : columns) {
    auto parsed = delta::parseColumnList(column);
    if (!parsed || parsed->size() != 1) {
      throw Error("DELTA_COLUMN_NOT_FOUND_IN_SCHEMA",
                  "'" + column +
                      "' is no column's name: put back-ticks around a name with other characters "
                      "than letters, digits and underscores.",
                  {{"columnName", column}, {"tableSchema", ""}});
    }
    paths.push_back(std::move(parsed->front()));
  }
  return paths;
}

int numThreads() {
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

delta::RunTasks tasksOf(TaskPool& pool) {
  return [&pool](int count, const std::function<void(int)>& task) { pool.runAll(count, task); };
}

delta::OptimizeReport runOptimize(const std::shared_ptr<DeltaLog>& log, const SnapshotPtr& snapshot,
                                  delta::OptimizeRequest request, int64_t targetBytes) {
  request.minFileBytes = request.maxFileBytes = targetBytes;
  TaskPool pool(numThreads());
  return delta::optimizeTable(log, snapshot, request, numThreads(), tasksOf(pool), nullptr);
}

}  // namespace

// ---- DeltaTable

struct DeltaTable::State {
  std::shared_ptr<DeltaLog> log;
  SnapshotPtr snapshot;
};

DeltaTable::DeltaTable(std::shared_ptr<const State> state) : state_(std::move(state)) {}

DeltaTable DeltaTable::open(const std::string& path) {
  return guarded([&] {
    auto log = logOf(path);
    SnapshotPtr snapshot = newestOf(*log);
    return DeltaTable(std::make_shared<State>(State{std::move(log), std::move(snapshot)}));
  });
}

DeltaTable DeltaTable::create(const std::string& path, ArrowSchema* schema, const Creation& creation) {
  return guarded([&] {
    const auto imported = valueOrThrow(arrow::ImportSchema(schema));
    auto log = logOf(path);
    if (log->update()) {
      throw Error("DELTA_PATH_EXISTS", log->table().uri() + " is a Delta table already: open it.",
                  {{"path", log->table().uri()}});
    }
    const SchemaPtr columns = fromArrowSchema(*imported);
    delta::Metadata metadata;
    metadata.id = randomUuid();
    metadata.createdTime = log->clock().nowMillis();
    metadata.description = creation.description;
    metadata.configuration = creation.properties;
    delta::WriteSchemaOptions rules;
    rules.columnMapping = delta::columnMappingMode(metadata) != delta::ColumnMappingMode::None;
    delta::newTableSchema(*columns, creation.partitionBy,
                          rules);  // for its checks: columns may be NOT NULL here
    metadata.schemaString = toSchemaJson(*columns);
    for (const std::string& name : creation.partitionBy) {
      const int column = columnsOf(*columns, {name}).front();
      metadata.partitionColumns.push_back(columns->fields()[static_cast<size_t>(column)].name);
    }
    delta::assignColumnMapping(&metadata, delta::PhysicalNames::Generated);
    delta::nameRowIdColumns(&metadata);
    delta::checkNewMetadata(nullptr, metadata);
    const auto wanted = delta::takeFeatureRequests(&metadata, log->table().uri());
    delta::Transaction transaction(log, nullptr);
    transaction.setProtocol(delta::protocolForNewTable(metadata, log->table().uri(), wanted));
    transaction.setMetadata(std::move(metadata));
    transaction.setOperation(
        {"CREATE TABLE",
         {{"partitionBy", delta::jsonText(toJsonText(nlohmann::json(creation.partitionBy)))}},
         {},
         {},
         {}});
    delta::requireCommitted(transaction.commit());
    SnapshotPtr snapshot = newestOf(*log);
    return DeltaTable(std::make_shared<State>(State{std::move(log), std::move(snapshot)}));
  });
}

int64_t DeltaTable::version() const {
  return state_->snapshot->version();
}

int64_t DeltaTable::update() {
  return guarded([&] {
    state_ = std::make_shared<State>(State{state_->log, state_->log->require()});
    return version();
  });
}

DeltaTable DeltaTable::at(int64_t version) const {
  return guarded([&] {
    return DeltaTable(std::make_shared<State>(State{state_->log, state_->log->snapshotAt(version)}));
  });
}

DeltaTable DeltaTable::atTime(int64_t epochMs) const {
  return guarded([&] {
    return DeltaTable(std::make_shared<State>(State{state_->log, state_->log->snapshotAtTimestamp(epochMs)}));
  });
}

void DeltaTable::schema(ArrowSchema* out) const {
  guarded([&] { throwIfFailed(arrow::ExportSchema(*toArrowSchema(*state_->snapshot->schema()), out)); });
}

const std::vector<std::string>& DeltaTable::partitionColumns() const {
  return state_->snapshot->partitionColumns();
}

const std::map<std::string, std::string>& DeltaTable::properties() const {
  return state_->snapshot->metadata().configuration;
}

int64_t DeltaTable::numFiles() const {
  return state_->snapshot->numFiles();
}

int64_t DeltaTable::sizeInBytes() const {
  return state_->snapshot->sizeInBytes();
}

std::optional<int64_t> DeltaTable::numRows() const {
  return guarded([&] { return delta::rowCount(*state_->snapshot); });
}

std::optional<int64_t> DeltaTable::applicationVersion(const std::string& application) const {
  return state_->snapshot->transactionVersion(application);
}

void DeltaTable::scan(ArrowArrayStream* out, const std::vector<std::string>& columns) const {
  guarded([&] {
    auto reader =
        std::make_shared<ScanReader>(state_->snapshot, columnsOf(*state_->snapshot->schema(), columns));
    throwIfFailed(arrow::ExportRecordBatchReader(std::move(reader), out));
  });
}

void DeltaTable::files(const FileVisitor& visit) const {
  guarded([&] {
    for (const delta::AddFile& file : state_->snapshot->liveFiles()) visit(fileOf(file));
  });
}

int64_t DeltaTable::listFiles(const std::string& path, const PartitionValues& partition,
                              const FileVisitor& visit) {
  return guarded([&] {
    initializeArrow();
    const Location table = FileSystemRegistry().resolve(path);
    const auto listing = delta::listFiles(
        table, [&](const delta::Metadata& metadata) { return equals(partition, metadata); },
        [&](delta::AddFile&& file) { visit(fileOf(file)); });
    if (!listing) throwNoTable(table);
    return listing->version;
  });
}

int64_t DeltaTable::optimize(int64_t targetBytes) {
  return guarded([&] {
    const SnapshotPtr newest = state_->log->require();
    delta::OptimizeRequest request;
    const auto clusterBy = delta::clusteringColumns(*newest);
    if (!clusterBy.empty()) request.kind = delta::OptimizeRequest::Kind::Cluster;
    request.operation = delta::optimizeOperation({.clusterBy = clusterBy});
    const auto report = runOptimize(state_->log, newest, std::move(request), targetBytes);
    update();
    return static_cast<int64_t>(report.files.removedSizes.size()) -
           static_cast<int64_t>(report.files.addedSizes.size());
  });
}

void DeltaTable::zOrder(const std::vector<std::string>& columns, int64_t targetBytes) {
  guarded([&] {
    delta::OptimizeRequest request;
    request.kind = delta::OptimizeRequest::Kind::Curve;
    request.columns = pathsOf(columns);
    request.operation = delta::optimizeOperation({.zOrderBy = request.columns});
    runOptimize(state_->log, state_->log->require(), std::move(request), targetBytes);
    update();
  });
}

int64_t DeltaTable::vacuum(std::optional<int64_t> retentionHours) {
  return guarded([&] {
    delta::VacuumRequest request;
    if (retentionHours) request.retentionMs = *retentionHours * 3'600'000;
    const auto report = delta::vacuumTable(state_->log, request, nullptr);
    update();
    return report.numDeleted;
  });
}

void DeltaTable::restore(int64_t version) {
  guarded([&] {
    delta::RestoreRequest request;
    request.version = version;
    TaskPool pool(numThreads());
    delta::restoreTable(state_->log, request, tasksOf(pool), nullptr);
    update();
  });
}

// ---- DeltaTransaction

struct DeltaTransaction::State {
  State(std::shared_ptr<DeltaLog> log, SnapshotPtr snapshot)
      : log(std::move(log)), snapshot(std::move(snapshot)), transaction(this->log, this->snapshot) {
    delta::checkWritable(this->snapshot->protocol(), this->snapshot->metadata(), this->log->table().uri());
    layout =
        delta::makeDataFileLayout(this->log->table(), this->snapshot->metadata(), this->snapshot->protocol());
    writer = std::make_unique<delta::PartitionedWriter>(layout, 0);
  }
  ~State() {
    if (!handedOver) discard();
  }

  void discard() {
    writer->abort();
    delta::removeUncommitted(log->table(), files);
  }

  void write(arrow::RecordBatchReader& rows) {
    const SchemaPtr data = fromArrowSchema(*rows.schema());
    const auto plan = delta::planWriteSchema(*snapshot->schema(), *data, {});
    std::vector<bool> given;
    for (const int column : plan.dataColumns) given.push_back(column >= 0);
    delta::RowRules rules(snapshot->metadata(), plan.tableSchema, given, nullptr);
    const auto own = toArrowSchema(*data);
    while (const auto batch = valueOrThrow(rows.Next())) {
      writer->write(rules.apply(delta::adaptRows(*inOwnTypes(*batch, *own), *data, plan, {})));
      numRows += batch->num_rows();
    }
  }

  delta::Operation operation() const {
    int64_t bytes = 0;
    for (const delta::AddFile& file : files) bytes += file.size;
    delta::Operation write;
    write.name = "WRITE";
    write.parameters = {{"mode", delta::jsonText(replaces ? "Overwrite" : "Append")},
                        {"partitionBy", delta::jsonText("[]")}};
    write.metrics = {{"numFiles", static_cast<int64_t>(files.size())},
                     {"numOutputRows", numRows},
                     {"numOutputBytes", bytes}};
    return write;
  }

  void replaceAll() {
    transaction.readWholeTable();
    const int64_t now = log->clock().nowMillis();
    snapshot->files().forEachLive([&](const delta::FileRecord& record) {
      transaction.remove(delta::removalOf(record.toAdd(delta::Statistics::IfKnown), now));
    });
  }

  int64_t commit() {
    files = writer->close();
    if (replaces) replaceAll();
    for (const delta::AddFile& file : files) transaction.add(file);
    transaction.setOperation(operation());
    handedOver = true;  // from here on the log may name the files
    const auto outcome = transaction.commit();
    if (const auto* committed = std::get_if<delta::Committed>(&outcome)) return committed->version;
    discard();
    throw std::get<delta::Conflicted>(outcome).error;
  }

  std::shared_ptr<DeltaLog> log;
  SnapshotPtr snapshot;
  delta::Transaction transaction;
  delta::DataFileLayout layout;
  std::unique_ptr<delta::PartitionedWriter> writer;
  std::vector<delta::AddFile> files;
  int64_t numRows = 0;
  bool replaces = false;
  bool handedOver = false;
};

DeltaTransaction::DeltaTransaction(std::unique_ptr<State> state) : state_(std::move(state)) {}
DeltaTransaction::~DeltaTransaction() = default;
DeltaTransaction::DeltaTransaction(DeltaTransaction&&) noexcept = default;

DeltaTransaction DeltaTable::begin() const {
  return guarded([&] {
    return DeltaTransaction(std::make_unique<DeltaTransaction::State>(state_->log, state_->snapshot));
  });
}

void DeltaTransaction::append(ArrowArrayStream* rows) {
  guarded([&] { state_->write(*valueOrThrow(arrow::ImportRecordBatchReader(rows))); });
}

void DeltaTransaction::append(ArrowArray* rows, ArrowSchema* schema) {
  guarded([&] {
    const auto batch = valueOrThrow(arrow::ImportRecordBatch(rows, schema));
    state_->write(*valueOrThrow(arrow::RecordBatchReader::Make({batch})));
  });
}

void DeltaTransaction::overwrite() {
  state_->replaces = true;
}

void DeltaTransaction::setApplication(const std::string& application, int64_t version) {
  state_->transaction.setTransaction({application, version, state_->log->clock().nowMillis()});
}

int64_t DeltaTransaction::commit() {
  return guarded([&] { return state_->commit(); });
}

}  // namespace thalweg::api
