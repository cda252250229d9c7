#include <set>
#include <sstream>

#include <arrow/api.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "delta/checkpoint/checkpoint_writer.h"
#include "delta/commit/transaction.h"
#include "delta/log/checkpoint_hint.h"
#include "delta/log/log_files.h"
#include "delta/snapshot/protocol_choice.h"
#include "delta/snapshot/table_features.h"
#include "formats/parquet/column_stream.h"
#include "formats/parquet/parquet_file.h"
#include "types/arrow_types.h"

namespace thalweg::delta {
namespace {

using nlohmann::json;

constexpr const char* kLog = "/t/_delta_log/";

// The columns of a table that Spark 4.2 (Delta 4.4) was asked about; partitioned by p and q.
const std::string kSchema = R"json({"type":"struct","fields":[
  {"name":"id","type":"integer","nullable":true,"metadata":{}},{"name":"p","type":"date","nullable":true,"metadata":{}},
  {"name":"q","type":"string","nullable":true,"metadata":{}},
  {"name":"s","type":{"type":"struct","fields":[{"name":"a","type":"double","nullable":true,"metadata":{}},
    {"name":"b","type":"timestamp","nullable":true,"metadata":{}}]},"nullable":true,"metadata":{}},
  {"name":"d","type":"decimal(10,2)","nullable":true,"metadata":{}},
  {"name":"n","type":"timestamp_ntz","nullable":true,"metadata":{}},
  {"name":"bin","type":"binary","nullable":true,"metadata":{}},{"name":"bo","type":"boolean","nullable":true,"metadata":{}},
  {"name":"arr","type":{"type":"array","elementType":"integer","containsNull":true},"nullable":true,"metadata":{}},
  {"name":"f","type":"float","nullable":true,"metadata":{}},{"name":"sh","type":"short","nullable":true,"metadata":{}}]})json";

// What Spark wrote for one row, and as stats_parsed in its checkpoint.
const std::string kStats =
    R"({"numRecords":1,"minValues":{"id":1,"s":{"a":1.5,"b":"2024-01-01T00:00:00.123Z"},"d":1.50,)"
    R"("n":"2024-01-01T00:00:00.123","f":"NaN","sh":3},"maxValues":{"id":1,"s":{"a":1.5,)"
    R"("b":"2024-01-01T00:00:00.123Z"},"d":1.50,"n":"2024-01-01T00:00:00.123","f":"NaN","sh":3},)"
    R"("nullCount":{"id":0,"s":{"a":0,"b":0},"d":0,"n":0,"bin":0,"bo":0,"arr":0,"f":0,"sh":0},"tightBounds":true})";

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() : files_(makeMemoryFileSystem()) {
    log_ = std::make_shared<DeltaLog>(Location{files_, "/t"});
  }

  // Checkpoints at every `interval` versions.
  void create(std::map<std::string, std::string> properties, int interval) {
    Transaction transaction(log_, nullptr);
    Metadata metadata;
    metadata.schemaString = kSchema;
    metadata.partitionColumns = {"p", "q"};
    metadata.configuration = std::move(properties);
    metadata.configuration["delta.checkpointInterval"] = std::to_string(interval);
    transaction.setMetadata(metadata);
    transaction.setOperation({"CREATE TABLE", {}, {}, {}, {}});
    transaction.commit();
  }

  SnapshotPtr append(const std::string& name, const std::string& day = "2024-01-02",
                     std::optional<std::string> q = "x y") {
    Transaction transaction(log_, log_->require());
    AddFile add;
    add.path = name;
    add.size = 10;
    add.partitionValues = {{"p", day}, {"q", std::move(q)}};
    add.stats = kStats;
    transaction.add(add);
    transaction.setOperation({"WRITE", {}, {}, {}, {}});
    return std::get<Committed>(transaction.commit()).snapshot;
  }

  void setProperty(const std::string& key, const std::string& value) {
    Transaction transaction(log_, log_->require());
    Metadata metadata = log_->require()->metadata();
    metadata.configuration[key] = value;
    transaction.setMetadata(metadata);
    transaction.setOperation({"SET TBLPROPERTIES", {}, {}, {}, {}});
    transaction.commit();
  }

  // Without commits the checkpoint alone must do.
  SnapshotPtr loadedFromCheckpoint() {
    const int64_t newest = log_->require()->version();
    for (int64_t version = 0; version <= newest; ++version) files_->remove(kLog + commitFileName(version));
    SnapshotPtr loaded = loadSnapshot(log_->table());
    EXPECT_EQ(loaded->checkpointVersion(), newest);
    return loaded;
  }

  std::vector<std::string> checkpointNames(int64_t version) {
    std::vector<std::string> names;
    for (const FileInfo& file : files_->list("/t/_delta_log")) {
      const auto name = parseLogFileName(file.name());
      if (name && name->isCheckpoint() && name->version == version) names.emplace_back(file.name());
    }
    return names;
  }

  json hint() { return json::parse(files_->readAll(std::string(kLog) + "_last_checkpoint")); }

  std::shared_ptr<arrow::Scalar> cell(const std::string& file, const std::string& column, int64_t row) {
    const auto table = readParquetTable(*files_, kLog + file, {column});
    std::shared_ptr<arrow::Scalar> scalar = table->column(0)->GetScalar(row).ValueOrDie();
    std::istringstream names(column);
    std::string name;
    std::getline(names, name, '.');
    while (std::getline(names, name, '.'))
      scalar = static_cast<const arrow::StructScalar&>(*scalar).field(name).ValueOrDie();
    return scalar;
  }

  std::shared_ptr<FileSystem> files_;
  std::shared_ptr<DeltaLog> log_;
};

std::vector<std::string> namesOf(const DataType& type) {
  std::vector<std::string> names;
  for (const StructField& field : type.fields()) names.push_back(field.name);
  return names;
}

void expectFiles(const Snapshot& snapshot, const std::set<std::string>& names) {
  std::set<std::string> found;
  for (const AddFile& add : snapshot.liveFiles()) {
    EXPECT_TRUE(found.insert(add.path).second) << add.path;
    ASSERT_TRUE(add.stats);
    EXPECT_EQ(json::parse(*add.stats), json::parse(kStats));
  }
  EXPECT_EQ(found, names);
}

// What most columns of a checkpoint are.
TEST_F(CheckpointTest, ColumnsOfNullsCanBeLeftOutByReaders) {
  create({}, 2);
  append("a");
  append("b");
  const std::string path = kLog + classicCheckpointFileName(2);
  const std::vector<std::string> columns = {"add.path", "add.baseRowId", "txn.appId",
                                            "remove.partitionValues"};
  const auto batchOf = [&](NullColumns nullColumns) {
    return ParquetColumnStream(*files_, path, columns, 16384, {}, {}, nullColumns).next();
  };
  const auto membersOf = [](const arrow::RecordBatch& batch) {
    return batch.GetColumnByName("add")->type()->num_fields();
  };
  const auto whole = batchOf(NullColumns::Keep);
  EXPECT_TRUE(whole->GetColumnByName("txn"));
  EXPECT_EQ(membersOf(*whole), 2);
  const auto lean = batchOf(NullColumns::LeaveOut);
  EXPECT_FALSE(lean->GetColumnByName("txn"));
  EXPECT_EQ(membersOf(*lean), 1);
  // A map without entries may be empty.
  EXPECT_TRUE(lean->GetColumnByName("remove"));
  EXPECT_EQ(lean->num_rows(), whole->num_rows());
}

TEST_F(CheckpointTest, ThePolicyV2NamesItsSidecarsInALinesFile) {
  log_->setCheckpointSettings({.partSize = 2});
  create({{"delta.checkpointPolicy", "v2"}, {"delta.enableDeletionVectors", "true"}}, 5);
  EXPECT_TRUE(supportsFeature(log_->require()->protocol(), "v2Checkpoint"));
  for (const char* name : {"a", "b", "c", "d"}) append(name);
  append("e", "2024-01-03", std::nullopt);

  const auto names = checkpointNames(5);
  ASSERT_EQ(names.size(), 1u);
  EXPECT_EQ(parseLogFileName(names[0])->kind, LogFileKind::UuidCheckpoint);
  EXPECT_TRUE(names[0].ends_with(".json"));
  std::vector<json> lines;
  std::istringstream text(files_->readAll(kLog + names[0]));
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[0]["checkpointMetadata"]["version"], 5);
  const json& tags = lines[0]["checkpointMetadata"]["tags"];
  EXPECT_EQ(tags["sidecarNumActions"], "5");
  EXPECT_EQ(tags["numOfAddFiles"], "5");
  EXPECT_EQ(json::parse(tags["sidecarFileSchema"].get<std::string>())["fields"].size(), 2u);
  int64_t sidecarBytes = 0;
  for (int part = 1; part <= 3; ++part) {
    const json& sidecar = lines[static_cast<size_t>(part)]["sidecar"];
    const std::string name = sidecar["path"];
    EXPECT_TRUE(
        name.starts_with("00000000000000000005.checkpoint.000000000" + std::to_string(part) + ".0000000003."))
        << name;
    const auto file = files_->stat(std::string(kLog) + "_sidecars/" + name);
    ASSERT_TRUE(file);
    EXPECT_EQ(sidecar["sizeInBytes"], file->sizeBytes);
    EXPECT_EQ(sidecar["modificationTime"], file->modificationTimeMs);
    EXPECT_EQ(namesOf(*readParquetSchema(*files_, file->path)), (std::vector<std::string>{"add", "remove"}));
    EXPECT_LE(readParquetTable(*files_, file->path, {"add.path"})->num_rows(), 2);
    sidecarBytes += file->sizeBytes;
  }
  EXPECT_EQ(tags["sidecarSizeInBytes"], std::to_string(sidecarBytes));
  EXPECT_TRUE(lines[4].contains("protocol"));
  EXPECT_TRUE(lines[5].contains("metaData"));

  const json last = hint();
  EXPECT_EQ(last["version"], 5);
  EXPECT_EQ(last["size"], 11) << "as Spark counts: sidecars' rows and the top level's";
  EXPECT_EQ(last["v2Checkpoint"]["path"], names[0]);
  EXPECT_EQ(last["v2Checkpoint"]["sidecarFiles"].size(), 3u);
  ASSERT_EQ(last["v2Checkpoint"]["nonFileActions"].size(), 3u);
  EXPECT_TRUE(last["v2Checkpoint"]["nonFileActions"][2].contains("checkpointMetadata"));
  EXPECT_TRUE(parseCheckpointHint(last.dump())) << "its checksum holds";

  expectFiles(*loadedFromCheckpoint(), {"a", "b", "c", "d", "e"});
}

TEST_F(CheckpointTest, TheTopLevelIsParquetWhereAsked) {
  log_->setCheckpointSettings({.partSize = std::nullopt, .parquetTopLevel = true});
  create({{"delta.checkpointPolicy", "v2"}, {"delta.enableDeletionVectors", "true"}}, 2);
  append("a");
  append("b");
  const auto names = checkpointNames(2);
  ASSERT_EQ(names.size(), 1u);
  EXPECT_TRUE(names[0].ends_with(".parquet"));
  EXPECT_EQ(namesOf(*readParquetSchema(*files_, kLog + names[0])),
            (std::vector<std::string>{"txn", "add", "remove", "metaData", "protocol", "domainMetadata",
                                      "checkpointMetadata", "sidecar"}));
  EXPECT_EQ(hint()["v2Checkpoint"]["sidecarFiles"].size(), 1u);
  expectFiles(*loadedFromCheckpoint(), {"a", "b"});
}

// Of a top level in lines, every beginning parses. Which lines are missing depends on its writer's order.
TEST_F(CheckpointTest, ATopLevelThatEndsBetweenLinesIsPassedOver) {
  log_->setCheckpointSettings({.partSize = 2});
  create({{"delta.checkpointPolicy", "v2"}, {"delta.enableDeletionVectors", "true"}}, 5);
  for (const char* name : {"a", "b", "c", "d"}) append(name);
  Transaction batch(log_, log_->require());
  batch.setTransaction({"query", 7, std::nullopt});
  batch.setDomain({"theirs", "{}", false});
  batch.setOperation({"STREAMING UPDATE", {}, {}, {}, {}});
  batch.commit();
  const std::string path = kLog + checkpointNames(5).at(0);
  std::vector<std::string> ours;
  std::istringstream text(files_->readAll(path));
  for (std::string line; std::getline(text, line);) ours.push_back(line + "\n");
  ASSERT_EQ(ours.size(), 7u);
  const std::vector<std::string> sidecarsLast = {ours[5], ours[6], ours[3], ours[4],
                                                 ours[0], ours[1], ours[2]};
  const std::vector<std::string> metadataLast = {ours[5], ours[6], ours[3], ours[4],
                                                 ours[1], ours[2], ours[0]};
  for (const auto& lines : {ours, sidecarsLast, metadataLast}) {
    std::string beginning;
    for (const std::string& line : lines) {
      files_->writeAtomically(path, beginning);
      SCOPED_TRACE(beginning);
      const SnapshotPtr loaded = loadSnapshot(log_->table());
      EXPECT_FALSE(loaded->checkpointVersion());
      expectFiles(*loaded, {"a", "b", "c", "d"});
      EXPECT_TRUE(loaded->transactions().contains("query"));
      EXPECT_TRUE(loaded->domainMetadata().contains("theirs"));
      beginning += line;
    }
    files_->writeAtomically(path, beginning);
    EXPECT_EQ(loadSnapshot(log_->table())->checkpointVersion(), 5);
  }
}

// A sidecar that is gone, torn or another one's: the commits have what it had.
TEST_F(CheckpointTest, ACheckpointWithoutItsSidecarsIsPassedOver) {
  for (const bool parquet : {false, true}) {
    SCOPED_TRACE(parquet);
    files_ = makeMemoryFileSystem();
    log_ = std::make_shared<DeltaLog>(Location{files_, "/t"});
    log_->setCheckpointSettings({.partSize = 2, .parquetTopLevel = parquet});
    create({{"delta.checkpointPolicy", "v2"}, {"delta.enableDeletionVectors", "true"}}, 3);
    for (const char* name : {"a", "b", "c"}) append(name);
    const auto sidecars = files_->list(std::string(kLog) + "_sidecars");
    ASSERT_EQ(sidecars.size(), 2u);
    const std::string first = files_->readAll(sidecars[0].path);
    const auto damage = [&](const std::string& contents) {
      files_->writeAtomically(sidecars[0].path, contents);
      const SnapshotPtr loaded = loadSnapshot(log_->table());
      EXPECT_FALSE(loaded->checkpointVersion());
      expectFiles(*loaded, {"a", "b", "c"});
    };
    damage(first.substr(0, first.size() / 2));
    damage("");
    damage(files_->readAll(sidecars[1].path));
    files_->remove(sidecars[0].path);
    expectFiles(*loadSnapshot(log_->table()), {"a", "b", "c"});
    files_->writeAtomically(sidecars[0].path, first);
    EXPECT_EQ(loadSnapshot(log_->table())->checkpointVersion(), 3);
  }
}

TEST_F(CheckpointTest, OneTornPartOfSeveralIsEnoughToPassThemOver) {
  log_->setCheckpointSettings({.partSize = 2});
  create({{"delta.enableDeletionVectors", "true"}}, 3);
  for (const char* name : {"a", "b", "c"}) append(name);
  const std::string part = kLog + partCheckpointFileName(3, 2, 2);
  const std::string whole = files_->readAll(part);
  files_->writeAtomically(part, whole.substr(0, whole.size() / 2));
  const SnapshotPtr loaded = loadSnapshot(log_->table());
  EXPECT_FALSE(loaded->checkpointVersion());
  expectFiles(*loaded, {"a", "b", "c"});
}

TEST_F(CheckpointTest, AnEmptyTableHasNoSidecars) {
  create({{"delta.checkpointPolicy", "v2"}}, 1);
  setProperty("k", "v");
  EXPECT_EQ(hint()["v2Checkpoint"]["sidecarFiles"].size(), 0u);
  EXPECT_EQ(loadedFromCheckpoint()->numFiles(), 0);
}

TEST_F(CheckpointTest, ThePolicyComesAndGoesByItsProperty) {
  create({{"delta.enableDeletionVectors", "true"}}, 1);
  append("a");
  EXPECT_EQ(checkpointNames(1), (std::vector<std::string>{classicCheckpointFileName(1)}));
  Transaction transaction(log_, log_->require());
  Metadata metadata = log_->require()->metadata();
  metadata.configuration["delta.checkpointPolicy"] = "v2";
  transaction.setProtocol(upgradedProtocol(log_->require()->protocol(), metadata, "t"));
  transaction.setMetadata(metadata);
  transaction.setOperation({"SET TBLPROPERTIES", {}, {}, {}, {}});
  transaction.commit();
  EXPECT_EQ(parseLogFileName(checkpointNames(2).at(0))->kind, LogFileKind::UuidCheckpoint);
  setProperty("delta.checkpointPolicy", "classic");
  EXPECT_EQ(checkpointNames(3), (std::vector<std::string>{classicCheckpointFileName(3)}));
  EXPECT_FALSE(hint().contains("v2Checkpoint"));
  EXPECT_TRUE(supportsFeature(log_->require()->protocol(), "v2Checkpoint"));
}

TEST_F(CheckpointTest, PartsOfTheOldFormHoldAsManyRowsAsAsked) {
  log_->setCheckpointSettings({.partSize = 2});
  create({{"delta.enableDeletionVectors", "true"}}, 3);
  append("a");
  append("b");
  append("c");
  EXPECT_EQ(checkpointNames(3),
            (std::vector<std::string>{partCheckpointFileName(3, 1, 2), partCheckpointFileName(3, 2, 2)}));
  EXPECT_EQ(hint()["parts"], 2);
  EXPECT_EQ(hint()["size"], 5);
  expectFiles(*loadedFromCheckpoint(), {"a", "b", "c"});
}

TEST_F(CheckpointTest, NoPartsBesideAnotherCheckpointNorWithTheFeatureV2) {
  log_->setCheckpointSettings({.partSize = 2});
  create({{"delta.enableDeletionVectors", "true"}}, 1000);
  append("a");
  append("b");
  const SnapshotPtr snapshot = append("c");
  files_->writeAtomically(kLog + partCheckpointFileName(3, 1, 2), "another writer's");
  EXPECT_EQ(writeCheckpoint(*snapshot, systemClock(), {.partSize = 2}).parts, 0);
  EXPECT_TRUE(files_->stat(kLog + classicCheckpointFileName(3)));
  EXPECT_EQ(files_->readAll(kLog + partCheckpointFileName(3, 1, 2)), "another writer's");
}

// The values and types that Spark's own checkpoint of this table has.
TEST_F(CheckpointTest, StatisticsAndPartitionValuesAreColumnsToo) {
  create({{"delta.enableDeletionVectors", "true"}}, 1);
  append("a", "2024-01-02", std::nullopt);
  const std::string file = classicCheckpointFileName(1);
  const auto add = readParquetSchema(*files_, kLog + file)->fields()[1];
  ASSERT_EQ(add.name, "add");
  EXPECT_EQ(
      namesOf(*add.type),
      (std::vector<std::string>{"path", "partitionValues", "size", "modificationTime", "dataChange", "tags",
                                "deletionVector", "baseRowId", "defaultRowCommitVersion",
                                "clusteringProvider", "stats", "partitionValues_parsed", "stats_parsed"}));
  const DataType& stats = *add.type->fields()[12].type;
  EXPECT_EQ(stats.simpleString(),
            "struct<numRecords:bigint,"
            "minValues:struct<id:int,s:struct<a:double,b:timestamp>,d:decimal(10,2),n:timestamp_ntz,f:float,"
            "sh:smallint>,"
            "maxValues:struct<id:int,s:struct<a:double,b:timestamp>,d:decimal(10,2),n:timestamp_ntz,f:float,"
            "sh:smallint>,"
            "nullCount:struct<id:bigint,s:struct<a:bigint,b:bigint>,d:bigint,n:bigint,bin:bigint,bo:bigint,"
            "arr:bigint,"
            "f:bigint,sh:bigint>,tightBounds:boolean>");
  EXPECT_EQ(add.type->fields()[11].type->simpleString(), "struct<p:date,q:string>");

  const int64_t row = 2;  // after protocol and metadata
  const auto text = [&](const std::string& column) { return cell(file, "add." + column, row)->ToString(); };
  EXPECT_EQ(text("partitionValues_parsed.p"), "2024-01-02");
  EXPECT_EQ(text("partitionValues_parsed.q"), "null");
  EXPECT_EQ(text("stats_parsed.numRecords"), "1");
  EXPECT_EQ(text("stats_parsed.minValues.id"), "1");
  EXPECT_EQ(text("stats_parsed.minValues.s.a"), "1.5");
  EXPECT_EQ(text("stats_parsed.maxValues.s.b").substr(0, 23), "2024-01-01 00:00:00.123");
  EXPECT_EQ(text("stats_parsed.minValues.d"), "1.50");
  EXPECT_EQ(text("stats_parsed.minValues.f"), "nan");
  EXPECT_EQ(text("stats_parsed.minValues.sh"), "3");
  EXPECT_EQ(text("stats_parsed.nullCount.arr"), "0");
  EXPECT_EQ(text("stats_parsed.tightBounds"), "true");
}

TEST_F(CheckpointTest, StatisticsAreTheOnesThatTheTableAsksFor) {
  create({{"delta.enableDeletionVectors", "true"}, {"delta.checkpoint.writeStatsAsJson", "false"}}, 1);
  append("a");
  auto add = readParquetSchema(*files_, kLog + classicCheckpointFileName(1))->fields()[1];
  EXPECT_EQ(namesOf(*add.type).at(10), "partitionValues_parsed");
  expectFiles(*loadedFromCheckpoint(), {"a"});
}

TEST_F(CheckpointTest, StatisticsAsJsonAlone) {
  create({{"delta.checkpoint.writeStatsAsStruct", "false"}}, 1);
  append("a");
  auto add = readParquetSchema(*files_, kLog + classicCheckpointFileName(1))->fields()[1];
  EXPECT_EQ(namesOf(*add.type).size(), 11u);
  EXPECT_EQ(namesOf(*add.type).back(), "stats");
  expectFiles(*loadedFromCheckpoint(), {"a"});
}

// Of other writers: the commit stays readable, and the columns are unknown.
TEST_F(CheckpointTest, StatisticsThatAreNoneBecomeNulls) {
  create({{"delta.enableDeletionVectors", "true"}}, 5);
  for (const char* stats : {"", "nonsense", "{\"numRecords\":\"x\",\"minValues\":7}",
                            "{\"minValues\":{\"id\":99999999999,"
                            "\"d\":1.999,\"s\":[1]},\"numRecords\":4}",
                            "{\"numRecords\":3"}) {
    Transaction transaction(log_, log_->require());
    AddFile file;
    file.path = std::string("f") + std::to_string(log_->require()->version());
    file.partitionValues = {{"p", "no day"}, {"q", "x"}};
    file.stats = stats;
    transaction.add(file);
    transaction.setOperation({"WRITE", {}, {}, {}, {}});
    transaction.commit();
  }
  const std::string file = classicCheckpointFileName(5);
  EXPECT_EQ(cell(file, "add.stats_parsed", 3)->ToString().find("NaN"), std::string::npos);
  EXPECT_EQ(cell(file, "add.partitionValues_parsed.p", 2)->ToString(), "null");
  EXPECT_EQ(cell(file, "add.partitionValues_parsed.q", 2)->ToString(), "x");
  EXPECT_EQ(cell(file, "add.stats_parsed.numRecords", 5)->ToString(), "4");
  EXPECT_EQ(cell(file, "add.stats_parsed.minValues.id", 5)->ToString(), "null");
  EXPECT_EQ(cell(file, "add.stats_parsed.minValues.d", 5)->ToString(), "null");
  EXPECT_EQ(loadedFromCheckpoint()->numFiles(), 5);
}

}  // namespace
}  // namespace thalweg::delta
