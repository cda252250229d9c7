#include <arrow/api.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "delta/checkpoint/checkpoint_writer.h"
#include "delta/commit/statements_for_tests.h"
#include "delta/commit/transaction.h"
#include "delta/files/data_file_writer.h"
#include "delta/files/partitioned_writer.h"
#include "delta/maintain/optimize.h"
#include "delta/maintain/restore.h"
#include "delta/maintain/vacuum.h"
#include "delta/modify/edits_for_tests.h"
#include "delta/modify/table_edit.h"
#include "delta/scan/data_file_reader.h"
#include "delta/scan/vector_files.h"
#include "delta/snapshot/protocol_choice.h"
#include "delta/snapshot/table_features.h"
#include "delta/upsert/upsert.h"
#include "storage/uri_path.h"
#include "types/arrow_result.h"
#include "types/schema_json.h"

namespace thalweg::delta {
namespace {

constexpr int64_t kDayMs = 24LL * 3600 * 1000;
constexpr int64_t kFirstLong = 100000;
constexpr auto kSchema =
    R"({"type":"struct","fields":[{"name":"p","type":"string","nullable":true,"metadata":{}},)"
    R"({"name":"x","type":"long","nullable":true,"metadata":{}}]})";

using Log = std::shared_ptr<DeltaLog>;

void runSerially(int count, const std::function<void(int)>& task) {
  for (int i = 0; i < count; ++i) task(i);
}

// The first columns of the table, from `first` on, and nulls in those that follow.
std::shared_ptr<arrow::RecordBatch> withNulls(const Schema& schema, arrow::ArrayVector columns,
                                              size_t first = 0) {
  const int64_t count = columns[0]->length();
  while (first + columns.size() < schema.fields().size())
    columns.push_back(valueOrThrow(arrow::MakeArrayOfNull(arrow::int32(), count)));
  arrow::FieldVector fields;
  for (size_t i = 0; i < columns.size(); ++i)
    fields.push_back(arrow::field(schema.fields()[first + i].name, columns[i]->type()));
  return arrow::RecordBatch::Make(arrow::schema(fields), count, columns);
}

AddFile writeRows(const Snapshot& snapshot, const std::string& p, const std::vector<int64_t>& values) {
  const DataFileLayout layout =
      makeDataFileLayout(snapshot.table(), snapshot.metadata(), snapshot.protocol());
  DataFileWriter writer(layout, {{"p", p}}, 0);
  arrow::Int64Builder builder;
  throwIfFailed(builder.AppendValues(values));
  writer.write(*withNulls(*snapshot.schema(), {valueOrThrow(builder.Finish())}, 1));
  return *writer.close();
}

// ---- statements

bool append(const Log& log, const std::string& p, const std::vector<int64_t>& values) {
  const SnapshotPtr snapshot = log->require();
  Transaction transaction(log, snapshot);
  transaction.add(writeRows(*snapshot, p, values));
  transaction.setOperation({.name = "WRITE"});
  requireCommitted(transaction.commit());
  return true;
}

// INSERT INTO t SELECT 'c', 1000 + count(*) FROM t
bool appendCount(const Log& log) {
  const SnapshotPtr snapshot = log->require();
  Transaction transaction(log, snapshot);
  transaction.readWholeTable();
  transaction.add(writeRows(*snapshot, "c", {1000 + static_cast<int64_t>(stateOf(*snapshot).rows.size())}));
  transaction.setOperation({.name = "WRITE"});
  requireCommitted(transaction.commit());
  return true;
}

OneOf among(std::set<int64_t> values) {
  return OneOf(std::move(values));
}

bool edit(const Log& log, OneOf condition, bool update) {
  const SnapshotPtr snapshot = log->require();
  RowEdit edit{std::make_shared<OneOf>(std::move(condition)), {}};
  if (update) edit.change = plusThousand;
  TableEdit work(*snapshot, std::move(edit), nullptr);
  Transaction transaction(log, snapshot);
  if (!work.run(transaction, 1, runSerially, log->clock().nowMillis())) return false;
  transaction.setOperation({.name = update ? "UPDATE" : "DELETE"});
  requireCommitted(work.commit(transaction));
  return true;
}

bool optimize(const Log& log, bool sorts) {
  OptimizeRequest request;
  if (sorts) {
    request.kind = OptimizeRequest::Kind::Curve;
    request.columns = {{"x"}};
  }
  request.operation.name = "OPTIMIZE";
  const OptimizeReport report = optimizeTable(log, log->require(), request, 1, runSerially, nullptr);
  return !report.files.removedSizes.empty();
}

bool overwrite(const Log& log) {
  const SnapshotPtr snapshot = log->require();
  Transaction transaction(log, snapshot);
  transaction.readWholeTable();
  for (const AddFile& file : snapshot->liveFiles())
    transaction.remove(removalOf(file, log->clock().nowMillis()));
  transaction.add(writeRows(*snapshot, "d", {5}));
  transaction.setOperation({.name = "WRITE"});
  requireCommitted(transaction.commit());
  return true;
}

// As sinks/delta writes it: the rows first, then what goes.
bool replaceWhereB(const Log& log) {
  const SnapshotPtr snapshot = log->require();
  Transaction transaction(log, snapshot);
  transaction.add(writeRows(*snapshot, "b", {50}));
  TableEdit replaced(*snapshot, {std::make_shared<OneOf>("b"), {}}, nullptr);
  replaced.run(transaction, 1, runSerially, log->clock().nowMillis());
  transaction.setOperation({.name = "WRITE"});
  requireCommitted(replaced.commit(transaction));
  return true;
}

bool addColumn(const Log& log) {
  const SnapshotPtr snapshot = log->require();
  if (snapshot->schema()->fieldIndex("z", false) >= 0) return false;
  Metadata metadata = snapshot->metadata();
  std::vector<StructField> fields = snapshot->schema()->fields();
  fields.push_back({"z", DataType::primitive(TypeId::Int)});
  metadata.schemaString = toSchemaJson(*DataType::structOf(std::move(fields)));
  Transaction transaction(log, snapshot);
  transaction.setMetadata(std::move(metadata));
  transaction.setOperation({.name = "ADD COLUMNS"});
  requireCommitted(transaction.commit());
  return true;
}

// ALTER TABLE … SET TBLPROPERTIES ('delta.feature.checkConstraints' = 'supported')
bool upgradeProtocol(const Log& log) {
  const SnapshotPtr snapshot = log->require();
  Transaction transaction(log, snapshot);
  transaction.setMetadata(snapshot->metadata());
  transaction.setProtocol(
      upgradedProtocol(snapshot->protocol(), snapshot->metadata(), "t", {"checkConstraints"}));
  transaction.setOperation({.name = "SET TBLPROPERTIES"});
  requireCommitted(transaction.commit());
  return true;
}

// As a stream's batch.
bool appendBatch(const Log& log) {
  const SnapshotPtr snapshot = log->require();
  Transaction transaction(log, snapshot);
  if (transaction.readTransaction("q").value_or(0) >= 1) return false;
  transaction.add(writeRows(*snapshot, "a", {60}));
  transaction.setTransaction({"q", 1, log->clock().nowMillis()});
  transaction.setOperation({.name = "STREAMING UPDATE"});
  requireCommitted(transaction.commit());
  return true;
}

// As a query in update mode writes that has x as its key: (u, 2) in the place of every row with x = 2.
bool upsert(const Log& log) {
  const SnapshotPtr snapshot = log->require();
  Upsert batch(std::make_shared<UpsertKey>(*snapshot->schema(), std::vector<std::string>{"x"}),
               makeTableLayout(snapshot->table(), snapshot->metadata(), snapshot->schema()));
  const DataFileLayout layout =
      makeDataFileLayout(snapshot->table(), snapshot->metadata(), snapshot->protocol());
  PartitionedWriter writer(layout, 0);
  Upsert::Task task(batch);
  task.write(writer, withNulls(*snapshot->schema(),
                               {valueOrThrow(arrow::MakeArrayFromScalar(arrow::StringScalar("u"), 1)),
                                valueOrThrow(arrow::MakeArrayFromScalar(arrow::Int64Scalar(2), 1))}));
  const std::vector<AddFile> files = writer.close();
  task.close();
  Transaction transaction(log, snapshot);
  transaction.planFiles([&](Transaction& planned) {
    batch.plan(planned, files, log->clock().nowMillis());
    planned.setOperation({.name = "STREAMING UPDATE"});
  });
  requireCommitted(transaction.commit());
  return true;
}

bool restore(const Log& log, int64_t version) {
  RestoreRequest request;
  request.version = version;
  restoreTable(log, request, runSerially, nullptr);
  return true;
}

bool vacuum(const Log& log) {
  vacuumTable(log, {}, nullptr);
  return true;
}

bool checkpoint(const Log& log) {
  writeCheckpoint(*log->require(), log->clock());
  return false;
}

template <typename Matches>
std::function<void(TableState&)> without(Matches matches) {
  return [matches](TableState& state) { std::erase_if(state.rows, matches); };
}
std::function<void(TableState&)> with(const std::string& p, int64_t x) {
  return [=](TableState& state) { state.rows.emplace(p, x); };
}
std::function<void(TableState&)> plusThousandWhere(int64_t x) {
  return [=](TableState& state) {
    Rows rows;
    for (const auto& [p, value] : state.rows) rows.emplace(p, value == x ? value + 1000 : value);
    state.rows = std::move(rows);
  };
}
void nothing(TableState&) {}

// Every third row of the long file.
std::set<int64_t> thirds(const SmallTable& table) {
  std::set<int64_t> values;
  for (const auto& [p, x] : table.state.rows) {
    if (x >= kFirstLong && x % 3 == 0) values.insert(x);
  }
  return values;
}

}  // namespace

std::vector<Statement> statementsOn(const SmallTable& table) {
  const auto appendOf = [](const std::string& p, int64_t x) {
    return [=](const Log& log) { return append(log, p, {x}); };
  };
  const auto removeOf = [](int64_t x) {
    return [=](const Log& log) { return edit(log, among({x}), false); };
  };
  const auto updateOf = [](int64_t x) { return [=](const Log& log) { return edit(log, among({x}), true); }; };
  const std::set<int64_t> long3 = thirds(table);
  return {
      {"append", appendOf("a", 100), with("a", 100)},
      {"append 2", appendOf("a", 2), with("a", 2)},
      {"append count", appendCount,
       [](TableState& state) { state.rows.emplace("c", 1000 + static_cast<int64_t>(state.rows.size())); }},
      {"delete 2", removeOf(2), without([](const auto& row) { return row.second == 2; })},
      {"update 2", updateOf(2), plusThousandWhere(2)},
      {"update 3", updateOf(3), plusThousandWhere(3)},
      {"delete b", [](const Log& log) { return edit(log, OneOf("b"), false); },
       without([](const auto& row) { return row.first == "b"; })},
      {"optimize", [](const Log& log) { return optimize(log, false); }, nothing},
      {"overwrite", overwrite,
       [](TableState& state) {
         state.rows = {{"d", 5}};
       }},
      {"replace b", replaceWhereB,
       [](TableState& state) {
         std::erase_if(state.rows, [](const auto& row) { return row.first == "b"; });
         state.rows.emplace("b", 50);
       }},
      {"add column", addColumn,
       [](TableState& state) {
         state.columns = {"p", "x", "z"};
       }},
      {"protocol", upgradeProtocol, nothing},
      {"batch", appendBatch,
       [](TableState& state) {
         state.rows.emplace("a", 60);
         state.appVersion = 1;
       }},
      {"restore", [version = table.restoreVersion](const Log& log) { return restore(log, version); },
       [then = table.stateAtRestoreVersion](TableState& state) {
         state.rows = then.rows;
         state.columns = then.columns;
       }},
      {"vacuum", vacuum, nothing},
      {"checkpoint", checkpoint, nothing},
      {"upsert", upsert,
       [](TableState& state) {
         std::erase_if(state.rows, [](const auto& row) { return row.second == 2; });
         state.rows.emplace("u", 2);
       }},
      {"sort", [](const Log& log) { return optimize(log, true); }, nothing},
      {"delete thirds", [long3](const Log& log) { return edit(log, OneOf(long3), false); },
       without([long3](const auto& row) { return long3.contains(row.second); })},
  };
}

const Statement& statementNamed(const std::vector<Statement>& statements, const std::string& name) {
  for (const Statement& statement : statements) {
    if (statement.name == name) return statement;
  }
  throw internalError("no statement " + name);
}

SmallTable makeSmallTable(const Location& table, const std::map<std::string, std::string>& properties) {
  MovedClock clock;
  clock.byMs = -30 * kDayMs;
  const auto log = std::make_shared<DeltaLog>(table, clock);
  {
    Transaction transaction(log, nullptr);
    Metadata metadata;
    metadata.schemaString = kSchema;
    metadata.partitionColumns = {"p"};
    metadata.configuration = properties;
    transaction.setMetadata(metadata);
    transaction.setOperation({.name = "CREATE TABLE"});
    requireCommitted(transaction.commit());
  }
  append(log, "a", {1, 2, 3});
  append(log, "a", {10, 11, 12});
  append(log, "b", {20, 21});
  append(log, "b", {30});
  edit(log, among({30}), false);
  append(log, "b", {40});
  SmallTable small;
  small.restoreVersion = log->require()->version();
  small.stateAtRestoreVersion = stateOf(*log->require());
  clock.byMs = -1 * kDayMs;
  edit(log, among({40}), false);
  table.fileSystem->writeAtomically(table.path + "/p=a/left-by-a-writer-that-died.parquet", "half");
  small.version = log->require()->version();
  small.state = stateOf(*log->require());
  return small;
}

void addLongFile(const Location& table, SmallTable* small, int64_t numRows) {
  const auto log = std::make_shared<DeltaLog>(table);
  std::vector<int64_t> values;
  for (int64_t i = 0; i < numRows; ++i) values.push_back(kFirstLong + i);
  append(log, "l", values);
  small->version = log->require()->version();
  small->state = stateOf(*log->require());
}

TableState stateOf(const Snapshot& snapshot) {
  TableState state;
  for (const StructField& field : snapshot.schema()->fields()) state.columns.push_back(field.name);
  state.appVersion = snapshot.transactionVersion("q");
  const auto layout = makeTableLayout(snapshot.table(), snapshot.metadata(), snapshot.schema());
  DataFileReadOptions options;
  options.columns = {1};
  for (const AddFile& file : snapshot.liveFiles()) {
    DataFileReader reader(layout, file, options);
    while (const auto batch = reader.next()) {
      const auto& x = static_cast<const arrow::Int64Array&>(*batch->column(0));
      for (int64_t i = 0; i < x.length(); ++i)
        state.rows.emplace(file.partitionValues.at("p").value_or(""), x.Value(i));
    }
  }
  return state;
}

std::string toText(const TableState& state) {
  std::string text = "columns";
  for (const std::string& column : state.columns) text += " " + column;
  if (state.appVersion) text += "; q " + std::to_string(*state.appVersion);
  text += "; rows";
  for (const auto& [p, x] : state.rows) text += " " + p + std::to_string(x);
  return text;
}

std::set<std::string> filesOf(const Snapshot& snapshot) {
  std::set<std::string> files;
  for (const AddFile& file : snapshot.liveFiles()) {
    files.insert(decodeUriPath(file.path));
    if (file.deletionVector && file.deletionVector->storageType == "u")
      files.insert(relativeVectorPath(file.deletionVector->pathOrInlineDv));
  }
  return files;
}

std::string faultsOf(const Snapshot& snapshot) {
  FileSystem& store = *snapshot.table().fileSystem;
  std::string faults;
  for (const std::string& file : filesOf(snapshot)) {
    if (!store.stat(snapshot.table().path + "/" + file)) faults += file + " is missing; ";
  }
  for (const AddFile& file : snapshot.liveFiles()) {
    const auto info = store.stat(snapshot.table().path + "/" + decodeUriPath(file.path));
    if (info && info->sizeBytes != file.size) faults += file.path + " has another size; ";
  }
  return faults;
}

namespace {

// Each alone, on tables with and without deletion vectors: the model is what the library does.
TEST(Statements, DoWhatTheirModelSays) {
  for (const char* vectors : {"true", "false"}) {
    for (size_t i = 0;; ++i) {
      const Location table{makeMemoryFileSystem(), "/t"};
      SmallTable small = makeSmallTable(table, {{std::string(kEnableDeletionVectors), vectors}});
      EXPECT_EQ(small.state.rows,
                (Rows{{"a", 1}, {"a", 2}, {"a", 3}, {"a", 10}, {"a", 11}, {"a", 12}, {"b", 20}, {"b", 21}}));
      addLongFile(table, &small, 1000);
      const auto statements = statementsOn(small);
      if (i == statements.size()) break;
      SCOPED_TRACE(statements[i].name);
      const auto log = std::make_shared<DeltaLog>(table);
      const bool committed = statements[i].run(log);
      EXPECT_EQ(committed, statements[i].name != "checkpoint");
      TableState expected = small.state;
      statements[i].apply(expected);
      EXPECT_EQ(toText(stateOf(*log->require())), toText(expected));
      EXPECT_EQ(faultsOf(*log->require()), "");
      EXPECT_GE(log->require()->version(), small.version + committed);
    }
  }
}

}  // namespace
}  // namespace thalweg::delta
