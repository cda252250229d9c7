// The rows of tables that other writers made, against what Spark and those writers say they hold.
#include <filesystem>
#include <fstream>

#include <arrow/api.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "delta/files/value_text.h"
#include "delta/scan/data_file_reader.h"
#include "delta/snapshot/delta_log.h"

namespace thalweg::delta {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<int> allColumns(const Schema& schema) {
  std::vector<int> columns(schema.fields().size());
  for (size_t i = 0; i < columns.size(); ++i) columns[i] = static_cast<int>(i);
  return columns;
}

void addRows(const arrow::RecordBatch& batch, std::multiset<std::string>* rows) {
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    std::string text;
    for (int column = 0; column < batch.num_columns(); ++column) {
      const auto scalar = *batch.column(column)->GetScalar(row);
      text += (scalar->is_valid ? scalar->ToString() : "null") + "|";
    }
    rows->insert(text);
  }
}

std::multiset<std::string> rowsOf(const Snapshot& snapshot) {
  const auto layout = makeTableLayout(snapshot.table(), snapshot.metadata(), snapshot.schema());
  std::multiset<std::string> rows;
  for (const AddFile& file : snapshot.liveFiles()) {
    DataFileReader reader(layout, file, {.columns = allColumns(*snapshot.schema()), .batchRows = 3});
    while (const auto batch = reader.next()) addRows(*batch, &rows);
  }
  return rows;
}

std::multiset<std::string> expectedRows(const fs::path& folder, const SchemaPtr& schema) {
  const auto store = makeLocalFileSystem();
  std::multiset<std::string> rows;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".parquet") continue;
    ParquetReadOptions options;
    options.matching = ParquetReadOptions::ColumnMatching::IgnoreCase;
    options.batchRows = 1000;
    ParquetFileReader reader(*store, entry.path().string(), schema, options);
    while (const auto batch = reader.next().rows) addRows(*batch, &rows);
  }
  return rows;
}

TEST(TableContent, EveryTestTableHasTheRowsItsWriterSays) {
  const fs::path root = fs::path(THALWEG_SHARED_DIR) / "testdata/delta";
  if (!fs::exists(root / "MANIFEST.json")) GTEST_SKIP() << "no test tables at " << root;
  const json manifest = json::parse(std::ifstream(root / "MANIFEST.json"));
  int compared = 0;
  std::vector<std::string> refused;
  for (const json& table : manifest["tables"]) {
    if (table["answer"]["kind"] != "parquet") continue;
    const std::string name = table["path"];
    SCOPED_TRACE(name);
    try {
      const Location location{makeLocalFileSystem(), fs::weakly_canonical(root / name / "delta").string()};
      const SnapshotPtr snapshot = loadSnapshot(location);
      ASSERT_TRUE(snapshot);
      const auto wanted =
          expectedRows(root / name / std::string(table["answer"]["path"]), snapshot->schema());
      const auto got = rowsOf(*snapshot);
      EXPECT_EQ(got.size(), wanted.size());
      EXPECT_TRUE(got == wanted) << "first got: " << (got.empty() ? "" : *got.begin())
                                 << "\nfirst wanted: " << (wanted.empty() ? "" : *wanted.begin());
      ++compared;
    } catch (const Error& error) {
      const std::string condition = error.condition();
      if (condition != "DELTA_UNSUPPORTED_FEATURES_FOR_READ" &&
          !condition.starts_with("UNSUPPORTED_FEATURE")) {
        ADD_FAILURE() << error.message();
      }
      refused.push_back(name + ": " + error.message());
    }
  }
  EXPECT_GE(compared, 100);
  for (const std::string& line : refused) std::cout << "refused " << line << "\n";
}

// A row as Spark's toJSON prints it; nested columns are left out of the comparison.
json jsonRow(const arrow::RecordBatch& batch, int64_t row) {
  json object = json::object();
  for (int i = 0; i < batch.num_columns(); ++i) {
    const auto& column = *batch.column(i);
    if (column.IsNull(row)) continue;
    const std::string& name = batch.schema()->field(i)->name();
    switch (column.type_id()) {
      case arrow::Type::STRING:
        object[name] = static_cast<const arrow::StringArray&>(column).GetString(row);
        break;
      case arrow::Type::INT32:
        object[name] = static_cast<const arrow::Int32Array&>(column).Value(row);
        break;
      case arrow::Type::INT64:
        object[name] = static_cast<const arrow::Int64Array&>(column).Value(row);
        break;
      case arrow::Type::DOUBLE:
        object[name] = static_cast<const arrow::DoubleArray&>(column).Value(row);
        break;
      case arrow::Type::DATE32:
        object[name] = *dateText(static_cast<const arrow::Date32Array&>(column).Value(row));
        break;
      case arrow::Type::TIMESTAMP:
        object[name] =
            *timestampText(static_cast<const arrow::TimestampArray&>(column).Value(row), 'T', 3) + "Z";
        break;
      default:
        break;
    }
  }
  return object;
}

TEST(TableContent, SparksStreamedTablesHaveTheirRows) {
  const fs::path root = fs::path(THALWEG_SHARED_DIR) / "testdata/spark-checkpoints";
  if (!fs::exists(root)) GTEST_SKIP() << "no Spark checkpoints at " << root;
  int compared = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().filename() != "expected.jsonl" ||
        !fs::exists(entry.path().parent_path() / "table/_delta_log"))
      continue;
    SCOPED_TRACE(entry.path().parent_path().string());
    const SnapshotPtr snapshot = loadSnapshot(
        {makeLocalFileSystem(), fs::weakly_canonical(entry.path().parent_path() / "table").string()});
    ASSERT_TRUE(snapshot);
    const auto isFlat = [](const StructField& field) {
      return !field.type->isNested() && field.type->id() != TypeId::Boolean &&
             field.type->id() != TypeId::Decimal;
    };
    std::multiset<std::string> wanted;
    std::ifstream lines(entry.path());
    for (std::string line; std::getline(lines, line);) {
      json row = json::parse(line);
      for (const StructField& field : snapshot->schema()->fields()) {
        if (!isFlat(field)) row.erase(field.name);
        // Spark prints as many digits of the fraction as there are.
        if (field.type->id() == TypeId::Timestamp && row.contains(field.name)) {
          row[field.name] =
              *timestampText(*parseTimestampText(row[field.name].get<std::string>()), 'T', 3) + "Z";
        }
      }
      wanted.insert(row.dump());
    }
    std::multiset<std::string> got;
    const auto layout = makeTableLayout(snapshot->table(), snapshot->metadata(), snapshot->schema());
    for (const AddFile& file : snapshot->liveFiles()) {
      DataFileReader reader(layout, file, {.columns = allColumns(*snapshot->schema())});
      while (const auto batch = reader.next()) {
        for (int64_t row = 0; row < batch->num_rows(); ++row) got.insert(jsonRow(*batch, row).dump());
      }
    }
    EXPECT_EQ(got.size(), wanted.size());
    EXPECT_TRUE(got == wanted) << (got.empty() ? "" : *got.begin()) << "\n"
                               << (wanted.empty() ? "" : *wanted.begin());
    ++compared;
  }
  EXPECT_GT(compared, 20);
}

}  // namespace
}  // namespace thalweg::delta
