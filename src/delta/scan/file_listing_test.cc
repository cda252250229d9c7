#include "delta/scan/file_listing.h"

#include <set>

#include <arrow/scalar.h>
#include <arrow/table.h>
#include <gtest/gtest.h>

#include "delta/checkpoint/checkpoint_writer.h"
#include "delta/commit/transaction.h"
#include "delta/log/log_files.h"
#include "delta/snapshot/table_features.h"
#include "formats/parquet/parquet_file.h"

namespace thalweg::delta {
namespace {

std::vector<ColumnPredicate> noPredicates(const Metadata&) {
  return {};
}

class FileListingTest : public testing::Test {
 protected:
  FileListingTest() : files_(makeMemoryFileSystem()) {
    log_ = std::make_shared<DeltaLog>(Location{files_, "/t"});
  }

  void create(std::map<std::string, std::string> properties) {
    Transaction transaction(log_, nullptr);
    Metadata metadata;
    metadata.schemaString =
        R"({"type":"struct","fields":[{"name":"Day","type":"date","nullable":true,"metadata":{}},)"
        R"({"name":"x","type":"long","nullable":true,"metadata":{}}]})";
    metadata.partitionColumns = {"Day"};
    metadata.configuration = std::move(properties);
    metadata.configuration["delta.checkpointInterval"] = "1000";
    transaction.setMetadata(metadata);
    transaction.setOperation({"CREATE TABLE", {}, {}, {}, {}});
    transaction.commit();
  }

  static AddFile fileOf(const std::string& name, const std::optional<std::string>& day, int64_t x) {
    AddFile add;
    add.path = name;
    add.partitionValues = {{"Day", day}};
    const std::string text = std::to_string(x);
    add.stats = R"({"numRecords":1,"minValues":{"x":)" + text + R"(},"maxValues":{"x":)" + text +
                R"(},"nullCount":{"x":0}})";
    return add;
  }

  void commit(const std::vector<AddFile>& adds, const std::vector<AddFile>& removes = {}) {
    Transaction transaction(log_, log_->require());
    for (const AddFile& add : adds) transaction.add(add);
    for (const AddFile& file : removes) transaction.remove(removalOf(file, systemClock().nowMillis()));
    transaction.setOperation({"WRITE", {}, {}, {}, {}});
    transaction.commit();
  }

  std::set<std::string> listed(const std::vector<ColumnPredicate>& predicates) {
    std::set<std::string> names;
    const auto listing = listFiles(
        log_->table(), [&](const Metadata&) { return predicates; },
        [&](AddFile&& file) {
          EXPECT_TRUE(names.insert(file.path).second) << file.path;
          EXPECT_TRUE(file.stats);
        });
    EXPECT_EQ(listing->version, log_->require()->version());
    EXPECT_EQ(listing->numFiles, static_cast<int64_t>(names.size()));
    return names;
  }

  static ColumnPredicate onDay(ColumnPredicate::Op op, int32_t day) {
    return {"day", op, std::make_shared<arrow::Date32Scalar>(day)};
  }

  std::shared_ptr<FileSystem> files_;
  std::shared_ptr<DeltaLog> log_;
};

using Op = ColumnPredicate::Op;

TEST_F(FileListingTest, NothingThereIsNoTable) {
  EXPECT_FALSE(listFiles(log_->table(), noPredicates, [](AddFile&&) {}));
}

// Days are counted from 1970-01-01: 1970-01-11 is day 10.
TEST_F(FileListingTest, CommitsAfterTheCheckpointHideItsFiles) {
  for (const bool v2 : {false, true}) {
    files_ = makeMemoryFileSystem();
    log_ = std::make_shared<DeltaLog>(Location{files_, "/t"});
    create(v2 ? std::map<std::string, std::string>{{"delta.checkpointPolicy", "v2"}}
              : std::map<std::string, std::string>{});
    commit({fileOf("a", "1970-01-11", 1), fileOf("b", "1970-01-12", 2), fileOf("c", std::nullopt, 3),
            fileOf("d", "1970-01-11", 4)});
    writeCheckpoint(*log_->require());
    commit({fileOf("e", "1970-01-11", 5)}, {fileOf("a", "1970-01-11", 1)});
    commit({fileOf("d", "1970-01-11", 4)});
    EXPECT_EQ(listed({}), (std::set<std::string>{"b", "c", "d", "e"}));
    EXPECT_EQ(listed({onDay(Op::Equal, 10)}), (std::set<std::string>{"d", "e"}));
    EXPECT_EQ(listed({onDay(Op::Greater, 10)}), (std::set<std::string>{"b"}));
    EXPECT_EQ(listed({onDay(Op::GreaterOrEqual, 10), onDay(Op::Less, 11)}),
              (std::set<std::string>{"d", "e"}));
    EXPECT_EQ(listed({onDay(Op::LessOrEqual, 9)}), (std::set<std::string>{}));
    EXPECT_EQ(listed({{"DAY", Op::IsNull, nullptr}}), (std::set<std::string>{"c"}));
    EXPECT_EQ(listed({{"x", Op::Equal, std::make_shared<arrow::Int64Scalar>(2)}}),
              (std::set<std::string>{"b"}));
  }
}

TEST_F(FileListingTest, APartitionsFilesLieTogetherInCheckpoints) {
  create({});
  std::vector<AddFile> adds;
  for (int i = 0; i < 100; ++i)
    adds.push_back(fileOf("f" + std::to_string(i), "1970-01-1" + std::to_string(i % 7 + 1), i));
  commit(adds);
  writeCheckpoint(*log_->require());
  const auto table = readParquetTable(*files_, "/t/_delta_log/" + classicCheckpointFileName(1),
                                      {"add.partitionValues_parsed"});
  std::string last;
  std::set<std::string> seen;
  for (int64_t row = 0; row < table->num_rows(); ++row) {
    const std::string value = table->column(0)->GetScalar(row).ValueOrDie()->ToString();
    if (value == last) continue;
    EXPECT_TRUE(seen.insert(value).second) << value << " comes again in row " << row;
    last = value;
  }
  EXPECT_GE(seen.size(), 7u);
  EXPECT_EQ(listed({onDay(Op::Equal, 12)}).size(), 14u) << "every seventh file from the third on";
}

// Of a checkpoint that is cut off, or has another's sidecar, nothing may be taken for the whole.
TEST_F(FileListingTest, ACheckpointThatIsNotWholeIsAnError) {
  log_->setCheckpointSettings({.partSize = 2});
  create({{"delta.checkpointPolicy", "v2"}});
  commit({fileOf("a", "1970-01-11", 1), fileOf("b", "1970-01-12", 2), fileOf("c", "1970-01-13", 3)});
  writeCheckpoint(*log_->require(), systemClock(), {.partSize = 2});
  std::string path;
  std::vector<std::string> sidecars;
  for (const FileInfo& file : files_->list("/t/_delta_log")) {
    if (file.path.ends_with(".json") && file.path.find(".checkpoint.") != std::string::npos) path = file.path;
  }
  for (const FileInfo& file : files_->list("/t/_delta_log/_sidecars")) sidecars.push_back(file.path);
  ASSERT_EQ(sidecars.size(), 2u);
  EXPECT_EQ(listed({}), (std::set<std::string>{"a", "b", "c"}));
  const auto condition = [&] {
    try {
      listFiles(log_->table(), noPredicates, [](AddFile&&) {});
    } catch (const Error& error) {
      return error.condition();
    }
    return std::string("none");
  };
  const std::string whole = files_->readAll(path);
  // Another writer's order: sidecars at the end.
  const size_t second = whole.find('\n') + 1;
  const size_t third = whole.find('\n', second) + 1;
  const size_t fourth = whole.find('\n', third) + 1;
  const std::string others = whole.substr(0, second) + whole.substr(fourth);
  files_->writeAtomically(path, others + whole.substr(second, third - second));
  EXPECT_EQ(condition(), "DELTA_STATE_RECOVER_ERROR");
  files_->writeAtomically(path, whole.substr(second));
  EXPECT_EQ(condition(), "DELTA_STATE_RECOVER_ERROR") << "no checkpointMetadata";
  files_->writeAtomically(path, whole);
  const std::string larger =
      files_->readAll(sidecars[0]).size() > files_->readAll(sidecars[1]).size() ? sidecars[0] : sidecars[1];
  const std::string other = larger == sidecars[0] ? sidecars[1] : sidecars[0];
  files_->writeAtomically(other, files_->readAll(larger));
  EXPECT_EQ(condition(), "DELTA_STATE_RECOVER_ERROR") << "two actions instead of one";
}

// NaN is above all numbers, and no footer has it for a bound.
TEST_F(FileListingTest, PartitionsOfNanAreFound) {
  Transaction transaction(log_, nullptr);
  Metadata metadata;
  metadata.schemaString =
      R"({"type":"struct","fields":[{"name":"d","type":"double","nullable":true,"metadata":{}}]})";
  metadata.partitionColumns = {"d"};
  transaction.setMetadata(metadata);
  transaction.setOperation({"CREATE TABLE", {}, {}, {}, {}});
  transaction.commit();
  AddFile nan;
  nan.path = "nan";
  nan.partitionValues = {{"d", "NaN"}};
  AddFile one = nan;
  one.path = "one";
  one.partitionValues = {{"d", "1.0"}};
  commit({nan, one});
  writeCheckpoint(*log_->require());
  std::set<std::string> names;
  listFiles(
      log_->table(),
      [](const Metadata&) {
        return std::vector<ColumnPredicate>{{"d", Op::Greater, std::make_shared<arrow::DoubleScalar>(5.0)}};
      },
      [&](AddFile&& file) { names.insert(file.path); });
  EXPECT_TRUE(names.contains("nan"));
}

}  // namespace
}  // namespace thalweg::delta
