// A small table in memory, for tests of what maintains it: partitioned by p, with a column x of longs and y
// of texts.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "common/testing/later_clock.h"
#include "delta/commit/transaction.h"
#include "delta/files/data_file_writer.h"
#include "delta/files/deletion_vector_writer.h"
#include "delta/files/row_tracking.h"
#include "delta/scan/data_file_reader.h"
#include "delta/snapshot/delta_log.h"
#include "storage/racing_file_system.h"
#include "types/arrow_result.h"

namespace thalweg::delta {

class TableTest : public testing::Test {
 protected:
  // With deletion vectors unless `properties` say otherwise.
  explicit TableTest(std::vector<std::string> partitionColumns = {"p"},
                     std::map<std::string, std::string> properties = {})
      : files_(makeMemoryFileSystem()),
        store_(std::make_shared<RacingFileSystem>(files_)),
        log_(std::make_shared<DeltaLog>(Location{store_, "/t"}, clock_)) {
    Transaction transaction(log_, nullptr);
    Metadata metadata;
    metadata.schemaString =
        R"({"type":"struct","fields":[{"name":"p","type":"string","nullable":true,"metadata":{}},)"
        R"({"name":"x","type":"long","nullable":true,"metadata":{}},)"
        R"({"name":"y","type":"string","nullable":true,"metadata":{}}]})";
    metadata.partitionColumns = std::move(partitionColumns);
    metadata.configuration = std::move(properties);
    metadata.configuration.emplace("delta.enableDeletionVectors", "true");
    assignColumnMapping(&metadata, PhysicalNames::AsShown);
    nameRowIdColumns(&metadata);
    transaction.setMetadata(metadata);
    transaction.setOperation({"CREATE TABLE", {}, {}, {}, {}});
    transaction.commit();
  }

  using Values = std::vector<std::pair<int64_t, std::string>>;

  // One commit with one file of these rows.
  AddFile append(const std::string& partition, const Values& values) {
    const SnapshotPtr snapshot = log_->require();
    const DataFileLayout layout =
        makeDataFileLayout(log_->table(), snapshot->metadata(), snapshot->protocol());
    const bool partitioned = !layout.partitionColumns.empty();
    DataFileWriter writer(layout, partitioned ? PartitionValues{{"p", partition}} : PartitionValues(), 0);
    arrow::Int64Builder x;
    arrow::StringBuilder y, p;
    for (const auto& [number, text] : values) {
      throwIfFailed(x.Append(number));
      throwIfFailed(y.Append(text));
      throwIfFailed(p.Append(partition));
    }
    arrow::FieldVector fields = {arrow::field("x", arrow::int64()), arrow::field("y", arrow::utf8())};
    arrow::ArrayVector columns = {valueOrThrow(x.Finish()), valueOrThrow(y.Finish())};
    if (!partitioned) {
      fields.insert(fields.begin(), arrow::field("p", arrow::utf8()));
      columns.insert(columns.begin(), valueOrThrow(p.Finish()));
    }
    writer.write(
        *arrow::RecordBatch::Make(arrow::schema(fields), static_cast<int64_t>(values.size()), columns));
    const AddFile file = *writer.close();
    Transaction transaction(log_, snapshot);
    transaction.add(file);
    transaction.setOperation({"WRITE", {}, {}, {}, {}});
    transaction.commit();
    return file;
  }

  // One commit in which rows of a file go by a vector. By another handle, as another process would.
  void deleteRows(AddFile file, const std::vector<int64_t>& positions) {
    const auto other = std::make_shared<DeltaLog>(Location{files_, "/t"}, clock_);
    Transaction transaction(other, other->require());
    transaction.readFile(file);
    transaction.remove(removalOf(file, clock_.nowMillis()));
    file.deletionVector = inlineDeletionVector(*DeletedRows::none()->with(positions));
    transaction.add(file);
    transaction.setOperation({"DELETE", {}, {}, {}, {}});
    ASSERT_TRUE(std::holds_alternative<Committed>(transaction.commit()));
  }
  void removeFile(const AddFile& file) {
    const auto other = std::make_shared<DeltaLog>(Location{files_, "/t"}, clock_);
    Transaction transaction(other, other->require());
    transaction.readFile(file);
    transaction.remove(removalOf(file, clock_.nowMillis()));
    transaction.setOperation({"DELETE", {}, {}, {}, {}});
    ASSERT_TRUE(std::holds_alternative<Committed>(transaction.commit()));
  }

  void setProperty(const std::string& key, const std::string& value) {
    Transaction transaction(log_, log_->require());
    Metadata metadata = log_->require()->metadata();
    metadata.configuration[key] = value;
    transaction.setMetadata(metadata);
    transaction.setOperation({"SET TBLPROPERTIES", {}, {}, {}, {}});
    transaction.commit();
  }

  Values rowsOf(const Snapshot& snapshot, const AddFile& file) {
    DataFileReadOptions options;
    options.columns = {1, 2};
    DataFileReader reader(makeTableLayout(snapshot.table(), snapshot.metadata(), snapshot.schema()), file,
                          options);
    Values rows;
    while (const auto batch = reader.next()) {
      const auto& x = static_cast<const arrow::Int64Array&>(*batch->column(0));
      const auto& y = static_cast<const arrow::StringArray&>(*batch->column(1));
      for (int64_t i = 0; i < batch->num_rows(); ++i) rows.emplace_back(x.Value(i), y.GetString(i));
    }
    return rows;
  }

  // The rows of each partition, sorted.
  std::map<std::string, std::multiset<std::pair<int64_t, std::string>>> rows(const SnapshotPtr& snapshot) {
    std::map<std::string, std::multiset<std::pair<int64_t, std::string>>> result;
    for (const AddFile& file : snapshot->liveFiles()) {
      const auto value = file.partitionValues.find("p");
      auto& into = result[value == file.partitionValues.end() ? "" : value->second.value_or("")];
      for (auto& row : rowsOf(*snapshot, file)) into.insert(std::move(row));
    }
    return result;
  }
  auto rows() { return rows(log_->require()); }

  static void runTasks(int count, const std::function<void(int)>& task) {
    for (int i = 0; i < count; ++i) task(i);
  }

  LaterClock clock_;
  std::shared_ptr<FileSystem> files_;
  std::shared_ptr<RacingFileSystem> store_;
  std::shared_ptr<DeltaLog> log_;
};

}  // namespace thalweg::delta
