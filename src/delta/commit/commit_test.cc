#include "delta/commit/transaction.h"

#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/fault_points.h"
#include "common/testing/later_clock.h"
#include "common/uuid.h"
#include "delta/actions/action_reader.h"
#include "delta/log/checkpoint_hint.h"
#include "delta/log/log_files.h"
#include "delta/log/version_checksum.h"
#include "delta/snapshot/protocol_choice.h"
#include "storage/fault_file_system.h"

namespace thalweg::delta {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string kSchema =
    R"({"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{}},)"
    R"({"name":"v","type":"string","nullable":true,"metadata":{}}]})";

Metadata tableMetadata(std::map<std::string, std::string> configuration = {}) {
  Metadata metadata;
  metadata.schemaString = kSchema;
  metadata.partitionColumns = {"x"};
  metadata.configuration = std::move(configuration);
  return metadata;
}

AddFile fileOf(const std::string& path, const std::string& x) {
  AddFile add;
  add.path = path;
  add.partitionValues = {{"x", x}};
  add.size = 100;
  add.modificationTime = 1;
  add.stats = R"({"numRecords":5})";
  return add;
}

ReadFilter partition(const std::string& x) {
  return [x](const AddFile& file) { return file.partitionValues.at("x") == x; };
}

class CommitTest : public testing::Test {
 protected:
  CommitTest() : memory_(makeMemoryFileSystem()), store_(std::make_shared<FaultFileSystem>(memory_)) {
    log_ = std::make_shared<DeltaLog>(Location{store_, "/t"});
  }

  void TearDown() override { armFaultPoint(""); }

  SnapshotPtr create(std::map<std::string, std::string> configuration = {}) {
    Transaction transaction(log_, nullptr);
    transaction.setMetadata(tableMetadata(std::move(configuration)));
    transaction.setOperation(
        {"CREATE TABLE", {{"partitionBy", jsonText("[\"x\"]")}, {"description", "null"}}, {}, {}});
    return won(transaction.commit());
  }

  static SnapshotPtr won(CommitOutcome outcome) {
    if (auto* conflicted = std::get_if<Conflicted>(&outcome)) throw conflicted->error;
    return std::get<Committed>(outcome).snapshot;
  }

  SnapshotPtr append(const AddFile& file) {
    Transaction transaction(log_, log_->require());
    transaction.add(file);
    transaction.setOperation({"WRITE", {{"mode", jsonText("Append")}}, {{"numFiles", 1}}, {}});
    return won(transaction.commit());
  }

  std::vector<std::string> lines(int64_t version) {
    std::vector<std::string> result;
    std::istringstream text(memory_->readAll("/t/_delta_log/" + commitFileName(version)));
    for (std::string line; std::getline(text, line);) result.push_back(line);
    return result;
  }

  bool exists(const std::string& name) { return memory_->stat("/t/_delta_log/" + name).has_value(); }

  std::shared_ptr<FileSystem> memory_;
  std::shared_ptr<FaultFileSystem> store_;
  std::shared_ptr<DeltaLog> log_;
};

TEST_F(CommitTest, AVersionInAPropertyIsTheOneThatIsWritten) {
  create();
  Transaction transaction(log_, log_->require());
  transaction.setMetadata(tableMetadata());
  transaction.setVersionProperty("delta.requireCheckpointProtectionBeforeVersion");
  // A race is lost to a commit that leaves all as it was read.
  Transaction winner(log_, log_->require());
  winner.setOperation({"Empty Commit", {}, {}, {}});
  won(winner.commit());
  const SnapshotPtr after = won(transaction.commit());
  EXPECT_EQ(after->version(), 2);
  EXPECT_EQ(after->metadata().configuration.at("delta.requireCheckpointProtectionBeforeVersion"), "2");
}

// Delta 3.2 reads tableVersion of each change, where the table has the preview of type widening.
TEST_F(CommitTest, AChangeOfTypeNamesItsVersionUnderThePreview) {
  for (const bool isPreview : {true, false}) {
    SCOPED_TRACE(isPreview);
    memory_ = makeMemoryFileSystem();
    log_ = std::make_shared<DeltaLog>(Location{memory_, "/t"});
    Metadata metadata = tableMetadata();
    metadata.configuration["delta.enableTypeWidening"] = "true";
    Transaction creation(log_, nullptr);
    creation.setMetadata(metadata);
    creation.setProtocol(protocolForNewTable(
        metadata, "t", isPreview ? std::set<std::string>{"typeWidening-preview"} : std::set<std::string>{}));
    creation.setOperation({"CREATE TABLE", {}, {}, {}, {}});
    won(creation.commit());
    metadata = log_->require()->metadata();
    metadata.schemaString =
        R"({"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{"delta.typeChanges":[)"
        R"({"fromType":"short","toType":"integer","tableVersion":0},{"fromType":"integer","toType":"long"}]}}]})";
    Transaction transaction(log_, log_->require());
    transaction.setMetadata(metadata);
    // A race is lost to a commit that leaves all as it was read.
    Transaction winner(log_, log_->require());
    winner.setOperation({"Empty Commit", {}, {}, {}});
    won(winner.commit());
    const std::string schema = won(transaction.commit())->metadata().schemaString;
    const auto changes = nlohmann::json::parse(schema)["fields"][0]["metadata"]["delta.typeChanges"];
    EXPECT_EQ(changes[0]["tableVersion"], 0);
    EXPECT_EQ(changes[1].value("tableVersion", -1), isPreview ? 2 : -1);
  }
}

TEST_F(CommitTest, CreatingWritesCommitInfoMetadataAndProtocolAsSpark) {
  const SnapshotPtr snapshot = create();
  EXPECT_EQ(snapshot->version(), 0);
  EXPECT_EQ(snapshot->protocol(), Protocol{});
  const auto text = lines(0);
  ASSERT_EQ(text.size(), 3u);
  EXPECT_TRUE(text[0].starts_with("{\"commitInfo\":{\"timestamp\":"));
  EXPECT_NE(
      text[0].find(
          R"("operation":"CREATE TABLE","operationParameters":{"partitionBy":"[\"x\"]","description":null},)"
          R"("isolationLevel":"Serializable","isBlindAppend":true,"operationMetrics":{},)"
          R"("engineInfo":"Thalweg/0.1.0","txnId":")"),
      std::string::npos)
      << text[0];
  EXPECT_TRUE(text[1].starts_with("{\"metaData\":{\"id\":"));
  EXPECT_EQ(text[2], R"({"protocol":{"minReaderVersion":1,"minWriterVersion":2}})");
}

TEST_F(CommitTest, FeaturesOfANewTableFollowItsProperties) {
  const SnapshotPtr snapshot =
      create({{"delta.enableDeletionVectors", "true"}, {"delta.enableChangeDataFeed", "true"}});
  EXPECT_EQ(lines(0)[2],
            R"({"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"],)"
            R"("writerFeatures":["appendOnly","changeDataFeed","deletionVectors","invariants"]}})");
}

TEST_F(CommitTest, WhatATableWouldNeedButWeLackIsRefusedByName) {
  try {
    create({{"delta.enableIcebergCompatV2", "true"}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.condition(), "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE");
    EXPECT_EQ(error.parameters().at("unsupported"), "icebergCompatV2");
  }
  EXPECT_FALSE(exists(commitFileName(0)));
}

TEST_F(CommitTest, InCommitTimestampsRise) {
  create({{"delta.enableInCommitTimestamps", "true"}});
  append(fileOf("a", "1"));
  append(fileOf("b", "1"));
  int64_t last = 0;
  for (int version = 0; version < 3; ++version) {
    const std::string line = lines(version)[0];
    EXPECT_TRUE(line.starts_with("{\"commitInfo\":{\"inCommitTimestamp\":")) << line;
    const int64_t time = json::parse(line)["commitInfo"]["inCommitTimestamp"];
    EXPECT_GT(time, last) << "whatever the clock says";
    last = time;
    const auto checksum = readChecksum(*memory_, "/t/_delta_log", version);
    ASSERT_TRUE(checksum);
    EXPECT_EQ(checksum->inCommitTimestamp, time) << "there where, and only where, they are on";
  }
}

// The newest one's time outlives its commit: its checksum has it.
TEST_F(CommitTest, InCommitTimestampsRiseOverACheckpointWithoutItsCommit) {
  LaterClock clock;
  clock.laterMs = 3'600'000;
  log_ = std::make_shared<DeltaLog>(Location{store_, "/t"}, clock);
  create({{"delta.enableInCommitTimestamps", "true"}, {"delta.checkpointInterval", "2"}});
  append(fileOf("a", "1"));
  const int64_t last = append(fileOf("b", "1"))->timestampMs();
  ASSERT_TRUE(exists(classicCheckpointFileName(2)));
  for (int64_t version = 0; version <= 2; ++version)
    memory_->remove("/t/_delta_log/" + commitFileName(version));
  clock.laterMs = 0;
  log_ = std::make_shared<DeltaLog>(Location{store_, "/t"}, clock);
  EXPECT_EQ(log_->require()->timestampMs(), last);
  EXPECT_GT(append(fileOf("c", "1"))->timestampMs(), last);
}

TEST_F(CommitTest, RowsOfATableThatTracksThemGetIds) {
  create({{"delta.enableRowTracking", "true"}});
  AddFile three = fileOf("a", "1");
  three.stats = R"({"numRecords":3})";
  AddFile two = fileOf("b", "1");
  two.stats = R"({"numRecords":2})";
  append(three);
  append(two);
  const auto actionOf = [&](int version, const char* kind) {
    for (const std::string& line : lines(version)) {
      if (json::parse(line).contains(kind)) return json::parse(line)[kind];
    }
    return json();
  };
  EXPECT_EQ(actionOf(1, "add")["baseRowId"], 0);
  EXPECT_EQ(actionOf(1, "add")["defaultRowCommitVersion"], 1);
  EXPECT_EQ(actionOf(2, "add")["baseRowId"], 3);
  EXPECT_EQ(actionOf(2, "add")["defaultRowCommitVersion"], 2);
  EXPECT_EQ(actionOf(2, "domainMetadata")["domain"], "delta.rowTracking");
  EXPECT_EQ(
      json::parse(actionOf(2, "domainMetadata")["configuration"].get<std::string>())["rowIdHighWaterMark"],
      4);
}

TEST_F(CommitTest, CommitInfoOfAnAppend) {
  create();
  append(fileOf("a", "1"));
  const json info = json::parse(lines(1)[0])["commitInfo"];
  EXPECT_EQ(info["readVersion"], 0);
  EXPECT_EQ(info["isolationLevel"], "Serializable");
  EXPECT_EQ(info["isBlindAppend"], true);
  EXPECT_EQ(info["operationMetrics"]["numFiles"], "1");
  EXPECT_EQ(info["operationParameters"]["mode"], "Append");
  EXPECT_TRUE(isUuid(info["txnId"].get<std::string>()));
}

TEST_F(CommitTest, ActionsComeInSparksOrder) {
  create();
  Transaction transaction(log_, log_->require());
  transaction.add(fileOf("a", "1"));
  transaction.setTransaction({"app", 4, 5});
  transaction.setMetadata(tableMetadata());
  won(transaction.commit());
  std::vector<std::string> names;
  for (const std::string& line : lines(1)) names.push_back(json::parse(line).begin().key());
  EXPECT_EQ(names, (std::vector<std::string>{"commitInfo", "metaData", "txn", "add"}));
}

TEST_F(CommitTest, TheSnapshotOfACommitIsWhatTheLogSays) {
  create();
  const SnapshotPtr first = append(fileOf("a", "1"));
  Transaction transaction(log_, first);
  transaction.readWholeTable();
  transaction.remove(removalOf(fileOf("a", "1"), log_->clock().nowMillis()));
  transaction.add(fileOf("b", "2"));
  transaction.setTransaction({"app", 4, 5});
  const SnapshotPtr second = won(transaction.commit());
  const SnapshotPtr loaded = loadSnapshot(log_->table());
  for (const SnapshotPtr& snapshot : {second, loaded}) {
    EXPECT_EQ(snapshot->version(), 2);
    ASSERT_EQ(snapshot->numFiles(), 1);
    EXPECT_EQ(snapshot->liveFiles()[0].path, "b");
    EXPECT_EQ(snapshot->sizeInBytes(), 100);
    EXPECT_EQ(snapshot->transactionVersion("app"), 4);
    EXPECT_EQ(snapshot->files().totals().numTombstones, 1);
  }
  EXPECT_EQ(first->numFiles(), 1) << "older snapshots stay as they were";
  EXPECT_EQ(first->liveFiles()[0].path, "a");
  EXPECT_EQ(lines(2).back(),
            R"({"add":{"path":"b","partitionValues":{"x":"2"},"size":100,"modificationTime":1,)"
            R"("dataChange":true,"stats":"{\"numRecords\":5}"}})");
}

TEST_F(CommitTest, APlanIsMadeOverTheNewestVersionAndAnewWhereWhatItReadChanges) {
  create();
  const SnapshotPtr old = append(fileOf("a", "1"));
  append(fileOf("b", "1"));
  std::vector<int64_t> versions;
  Transaction transaction(log_, old);
  transaction.setTransaction({"app", 1, std::nullopt});
  transaction.planFiles([&](Transaction& planned) {
    versions.push_back(planned.readSnapshot()->version());
    planned.readMatching(partition("1"));
    planned.readSnapshot()->files().forEachLive([&](const FileRecord& file) {
      if (file.toAdd().partitionValues.at("x") == "1") planned.remove(removalOf(file.toAdd(), 1));
    });
    planned.add(fileOf("merged" + std::to_string(versions.size()), "1"));
    planned.setOperation({"UPDATE", {}, {{"plans", static_cast<int64_t>(versions.size())}}, {}});
    if (versions.size() == 1) append(fileOf("c", "1"));  // another writer, before our first put
  });
  const SnapshotPtr done = won(transaction.commit());
  EXPECT_EQ(versions, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(done->version(), 4);
  ASSERT_EQ(done->numFiles(), 1);
  EXPECT_EQ(done->liveFiles()[0].path, "merged2");
  EXPECT_EQ(done->transactionVersion("app"), 1);
  const json info = json::parse(lines(4)[0])["commitInfo"];
  EXPECT_EQ(info["readVersion"], 3);
  EXPECT_EQ(info["isBlindAppend"], false);
  EXPECT_EQ(info["operationMetrics"]["plans"], "2");
}

TEST_F(CommitTest, APlanStaysWhereOthersAddWhatItWouldNotHaveRead) {
  create();
  int plans = 0;
  Transaction transaction(log_, log_->require());
  transaction.planFiles([&](Transaction& planned) {
    planned.readMatching(partition("1"));
    planned.add(fileOf("ours", "1"));
    if (++plans == 1) append(fileOf("theirs", "2"));
  });
  EXPECT_EQ(won(transaction.commit())->numFiles(), 2);
  EXPECT_EQ(plans, 1);
}

TEST_F(CommitTest, APlanDoesNotOutliveAnotherWritersMetadataOrTransaction) {
  create();
  const auto racing = [&](const std::function<void(Transaction&)>& theirs) {
    Transaction transaction(log_, log_->require());
    transaction.setTransaction({"app", 7, std::nullopt});
    transaction.planFiles([&](Transaction& planned) {
      planned.readWholeTable();
      planned.add(fileOf("ours", "1"));
      Transaction other(log_, log_->require());
      theirs(other);
      won(other.commit());
    });
    const CommitOutcome outcome = transaction.commit();
    const auto* conflict = std::get_if<Conflicted>(&outcome);
    return conflict ? conflict->error.condition() : "none";
  };
  EXPECT_EQ(racing([](Transaction& other) {
              other.setTransaction({"app", 7, std::nullopt});
            }),
            "DELTA_CONCURRENT_TRANSACTION");
  EXPECT_EQ(racing([](Transaction& other) {
              Metadata metadata = tableMetadata({{"delta.logRetentionDuration", "interval 1 day"}});
              metadata.id = other.readSnapshot()->metadata().id;
              other.setMetadata(metadata);
            }),
            "DELTA_METADATA_CHANGED");
  EXPECT_EQ(log_->require()->numFiles(), 0);
}

TEST_F(CommitTest, ChecksumFollowsEachCommitAndEqualsReplay) {
  create();
  append(fileOf("a", "1"));
  append(fileOf("b", "1"));
  const auto checksum = readChecksum(*memory_, "/t/_delta_log", 2);
  ASSERT_TRUE(checksum);
  EXPECT_EQ(checksum->numFiles, 2);
  EXPECT_EQ(checksum->tableSizeBytes, 200);
  EXPECT_FALSE(checksum->inCommitTimestamp);
  EXPECT_EQ(checksum->txnId, json::parse(lines(2)[0])["commitInfo"]["txnId"].get<std::string>());
}

// DROP TABLE, or a user who moves the folder, meets what a commit left to be done.
TEST_F(CommitTest, NothingFollowsACommitOfATableThatIsGone) {
  create({{"delta.checkpointInterval", "1"}});
  std::vector<std::function<void()>> later;
  log_ = std::make_shared<DeltaLog>(Location{store_, "/t"}, systemClock(),
                                    [&](std::function<void()> work) { later.push_back(std::move(work)); });
  append(fileOf("a", "1"));
  ASSERT_FALSE(later.empty());
  memory_->removeTree("/t");
  for (const auto& work : later) work();
  EXPECT_TRUE(memory_->list("/t").empty());
}

TEST_F(CommitTest, CheckpointEveryIntervalVersionsCarriesTheWholeState) {
  create({{"delta.checkpointInterval", "3"}});
  append(fileOf("a", "1"));
  append(fileOf("c", "1"));
  Transaction transaction(log_, log_->require());
  transaction.readWholeTable();
  transaction.remove(removalOf(fileOf("a", "1"), log_->clock().nowMillis()));
  AddFile b = fileOf("b", "2");
  b.tags = {{"k", "v"}};
  transaction.add(b);
  transaction.setTransaction({"app", 4, 5});
  const SnapshotPtr committed = won(transaction.commit());
  EXPECT_EQ(committed->version(), 3);
  ASSERT_TRUE(exists(classicCheckpointFileName(3)));
  const auto hint = readCheckpointHint(*memory_, "/t/_delta_log");
  EXPECT_EQ(hint->version, 3);
  EXPECT_EQ(hint->size, 6) << "protocol, metaData, txn, remove, two adds";
  EXPECT_EQ(hint->numOfAddFiles, 2);

  // Without the commits the checkpoint alone must do.
  for (int64_t version = 0; version <= 3; ++version)
    memory_->remove("/t/_delta_log/" + commitFileName(version));
  const SnapshotPtr loaded = loadSnapshot(log_->table());
  EXPECT_EQ(loaded->checkpointVersion(), 3);
  EXPECT_EQ(loaded->numFiles(), 2);
  EXPECT_EQ(loaded->files().totals().numTombstones, 1);
  EXPECT_EQ(loaded->transactionVersion("app"), 4);
  EXPECT_EQ(loaded->metadata().configuration, committed->metadata().configuration);
  EXPECT_EQ(loaded->metadata().partitionColumns, (std::vector<std::string>{"x"}));
  EXPECT_EQ(loaded->protocol(), committed->protocol());
  const auto add = loaded->files().findLive("b", "");
  ASSERT_TRUE(add);
  EXPECT_EQ(add->tags, b.tags);
  EXPECT_EQ(add->stats, b.stats);
  EXPECT_EQ(add->partitionValues, b.partitionValues);
}

// Other writers log an empty string as "": what it means depends on the column's type, so it must outlive a
// checkpoint.
TEST_F(CommitTest, AnEmptyPartitionValueStaysApartFromNull) {
  create({{"delta.checkpointInterval", "2"}});
  append(fileOf("empty", ""));
  AddFile null = fileOf("null", "");
  null.partitionValues = {{"x", std::nullopt}};
  append(null);
  ASSERT_TRUE(exists(classicCheckpointFileName(2)));
  for (int64_t version = 0; version <= 2; ++version)
    memory_->remove("/t/_delta_log/" + commitFileName(version));
  const SnapshotPtr loaded = loadSnapshot(log_->table());
  EXPECT_EQ(loaded->files().findLive("empty", "")->partitionValues, (PartitionValues{{"x", ""}}));
  EXPECT_EQ(loaded->files().findLive("null", "")->partitionValues, (PartitionValues{{"x", std::nullopt}}));
}

TEST_F(CommitTest, ATornCheckpointIsPassedOver) {
  create({{"delta.checkpointInterval", "2"}});
  for (const char* name : {"a", "b", "c", "d"}) append(fileOf(name, "1"));
  ASSERT_TRUE(exists(classicCheckpointFileName(4)));
  const std::string path = "/t/_delta_log/" + classicCheckpointFileName(4);
  const std::string whole = memory_->readAll(path);
  for (const size_t length : {whole.size() - 1, whole.size() / 2, size_t{3}}) {
    memory_->writeAtomically(path, whole.substr(0, length));
    const SnapshotPtr snapshot = loadSnapshot(log_->table());
    EXPECT_EQ(snapshot->checkpointVersion(), 2);
    EXPECT_EQ(snapshot->numFiles(), 4);
  }
}

// Conflicts, as the reference suite fixes them: what the current one read; what the winner did; what the
// current one writes.
struct ConflictCase {
  std::string name;
  std::function<void(Transaction&)> reads;
  std::function<void(Transaction&)> winner;
  std::function<void(Transaction&)> writes;
  std::string condition;  // empty: it commits
};

void nothing(Transaction&) {}
std::function<void(Transaction&)> adds(const std::string& path, const std::string& x) {
  return [=](Transaction& transaction) { transaction.add(fileOf(path, x)); };
}
std::function<void(Transaction&)> removes(const std::string& path, const std::string& x) {
  return [=](Transaction& transaction) { transaction.remove(removalOf(fileOf(path, x), 9)); };
}
std::function<void(Transaction&)> reads(const std::string& x) {
  return [=](Transaction& transaction) { transaction.readMatching(partition(x)); };
}
std::function<void(Transaction&)> records(const std::string& app) {
  return [=](Transaction& transaction) { transaction.setTransaction({app, 1, std::nullopt}); };
}

std::vector<ConflictCase> conflictCases() {
  const auto whole = [](Transaction& transaction) { transaction.readWholeTable(); };
  const auto metadata = [](Transaction& transaction) {
    transaction.setMetadata(tableMetadata({{"a", "b"}}));
  };
  const auto protocol = [](Transaction& transaction) { transaction.setProtocol(Protocol{}); };
  const auto asksFor = [](const std::string& app) {
    return [app](Transaction& transaction) { transaction.readTransaction(app); };
  };
  const auto domain = [](const std::string& name) {
    return [name](Transaction& transaction) { transaction.setDomain({name, "{}", false}); };
  };
  const auto both = [](auto first, auto second) {
    return [=](Transaction& transaction) {
      first(transaction);
      second(transaction);
    };
  };
  const auto rearranges = [](Transaction& transaction) {
    AddFile add = fileOf("rearranged", "1");
    add.dataChange = false;
    transaction.add(add);
    transaction.remove(removalOf(fileOf("one", "1"), 9, false));
  };
  return {
      {"blind appends", nothing, adds("A", "1"), adds("B", "1"), ""},
      {"other application", asksFor("t1"), records("t2"), nothing, ""},
      {"same application", asksFor("t1"), records("t1"), nothing, "DELTA_CONCURRENT_TRANSACTION"},
      {"same application written", nothing, records("t1"), both(records("t1"), adds("B", "1")),
       "DELTA_CONCURRENT_TRANSACTION"},
      {"removed elsewhere", reads("1"), removes("two", "2"), nothing, ""},
      {"added elsewhere", reads("1"), adds("A", "2"), nothing, ""},
      {"added where read", reads("1"), adds("A", "1"), adds("B", "1"),
       "DELTA_CONCURRENT_APPEND.WITHOUT_HINT"},
      {"added where read, nothing written", reads("1"), adds("A", "1"), nothing, ""},
      {"added where one of two was read", both(reads("1"), reads("2")), adds("A", "1"), adds("B", "1"),
       "DELTA_CONCURRENT_APPEND.WITHOUT_HINT"},
      {"removed where read", reads("1"), removes("one", "1"), nothing,
       "DELTA_CONCURRENT_DELETE_READ.WITHOUT_HINT"},
      {"both removed", nothing, removes("one", "1"), removes("one", "1"),
       "DELTA_CONCURRENT_DELETE_DELETE.WITHOUT_HINT"},
      {"metadata", nothing, metadata, nothing, "DELTA_METADATA_CHANGED"},
      {"metadata under an append", nothing, metadata, adds("B", "1"), "DELTA_METADATA_CHANGED"},
      {"both protocols", nothing, protocol, protocol, "DELTA_PROTOCOL_CHANGED"},
      {"protocol that still does", nothing, protocol, adds("B", "1"), ""},
      {"partition and whole table", both(reads("1"), whole), adds("A", "3"), adds("B", "4"),
       "DELTA_CONCURRENT_APPEND.WITHOUT_HINT"},
      {"whole table", whole, removes("one", "1"), adds("g", "1"),
       "DELTA_CONCURRENT_DELETE_READ.WITHOUT_HINT"},
      {"a winner that only rearranged counts", reads("1"), rearranges, adds("B", "1"),
       "DELTA_CONCURRENT_APPEND.WITHOUT_HINT"},
      {"one that only rearranges ignores appends", reads("1"), adds("A", "1"), rearranges, ""},
      {"same domain", nothing, domain("d"), domain("d"), "DELTA_CONCURRENT_TRANSACTION"},
      {"other domain", nothing, domain("d"), domain("e"), ""},
      {"harmless property", nothing,
       [](Transaction& transaction) {
         Metadata changed = transaction.readSnapshot()->metadata();
         changed.configuration["delta.checkpointInterval"] = "5";
         transaction.setMetadata(changed);
       },
       adds("B", "1"), ""},
  };
}

TEST_F(CommitTest, ConflictRules) {
  for (const ConflictCase& c : conflictCases()) {
    SCOPED_TRACE(c.name);
    memory_ = makeMemoryFileSystem();
    store_ = std::make_shared<FaultFileSystem>(memory_);
    log_ = std::make_shared<DeltaLog>(Location{store_, "/t"});
    create();
    append(fileOf("one", "1"));
    const SnapshotPtr base = append(fileOf("two", "2"));
    Transaction current(log_, base);
    c.reads(current);
    Transaction winner(log_, base);
    c.winner(winner);
    won(winner.commit());
    c.writes(current);
    const CommitOutcome outcome = current.commit();
    if (c.condition.empty()) {
      ASSERT_TRUE(std::holds_alternative<Committed>(outcome)) << std::get<Conflicted>(outcome).error.what();
      EXPECT_EQ(std::get<Committed>(outcome).version, 4);
      EXPECT_EQ(loadSnapshot(log_->table())->numFiles(), std::get<Committed>(outcome).snapshot->numFiles());
    } else {
      ASSERT_TRUE(std::holds_alternative<Conflicted>(outcome));
      EXPECT_EQ(std::get<Conflicted>(outcome).error.condition(), c.condition);
      EXPECT_EQ(std::get<Conflicted>(outcome).error.sqlState(), "2D521");
      EXPECT_FALSE(exists(commitFileName(4)));
    }
  }
}

TEST_F(CommitTest, OfTwoCreatorsOneConflicts) {
  create();
  Transaction second(log_, nullptr);
  second.setMetadata(tableMetadata());
  const CommitOutcome outcome = second.commit();
  ASSERT_TRUE(std::holds_alternative<Conflicted>(outcome));
  const Error& error = std::get<Conflicted>(outcome).error;
  EXPECT_EQ(error.condition(), "DELTA_PROTOCOL_CHANGED");
  EXPECT_EQ(error.kind(), ErrorKind::ConcurrentModification);
  EXPECT_NE(error.text().find("created the table"), std::string::npos) << error.text();
}

// Delta 4.4 answers so in every save mode, whatever the two writers' schemas have in common.
TEST_F(CommitTest, OfTwoFirstAppendsOneIsInTheTableAndTheOtherMayRunAgain) {
  const auto appendTo = [&](SnapshotPtr readSnapshot, const std::string& path) {
    Transaction transaction(log_, readSnapshot);
    if (!readSnapshot) transaction.setMetadata(tableMetadata());
    transaction.add(fileOf(path, "1"));
    transaction.setOperation({"WRITE", {{"mode", jsonText("Append")}}, {}, {}});
    return transaction.commit();
  };
  EXPECT_TRUE(std::holds_alternative<Committed>(appendTo(nullptr, "first")));
  EXPECT_TRUE(std::holds_alternative<Conflicted>(appendTo(nullptr, "second")));
  EXPECT_FALSE(exists(commitFileName(1)));
  const SnapshotPtr table = loadSnapshot(log_->table());
  EXPECT_EQ(table->numFiles(), 1);
  EXPECT_TRUE(std::holds_alternative<Committed>(appendTo(table, "second")));
  EXPECT_EQ(loadSnapshot(log_->table())->numFiles(), 2);
}

TEST_F(CommitTest, ALostAnswerIsResolvedByReadingBack) {
  create();
  store_->clear();
  store_->inject({FileOperation::PutIfAbsent, 1, 5, 1, /*afterEffect=*/true});
  EXPECT_EQ(append(fileOf("a", "1"))->version(), 1);
  EXPECT_FALSE(exists(commitFileName(2))) << "committed once";
  EXPECT_EQ(loadSnapshot(log_->table())->numFiles(), 1);
}

TEST_F(CommitTest, ALostAnswerThatCannotBeMadeDurableIsAFailure) {
  create();
  store_->clear();
  store_->inject({FileOperation::PutIfAbsent, 1, 5, 1, /*afterEffect=*/true});
  store_->inject({FileOperation::Sync, 1, 5, 1, false});
  EXPECT_THROW(append(fileOf("a", "1")), Error);
}

TEST_F(CommitTest, ACommitThatFailsIsNotInTheLog) {
  create();
  for (const FileOperation operation : {FileOperation::Stat, FileOperation::Read, FileOperation::List}) {
    for (int call = 1; call <= 6; ++call) {
      SCOPED_TRACE(testing::Message() << "operation " << static_cast<int>(operation) << ", call " << call);
      store_->clear();
      const int64_t before = log_->update()->version();
      Transaction transaction(log_, log_->update());
      transaction.add(fileOf("f" + std::to_string(call) + std::to_string(static_cast<int>(operation)), "1"));
      store_->clear();
      store_->inject({operation, call, 5, 1, false});
      bool failed = false;
      try {
        EXPECT_EQ(std::get<Committed>(transaction.commit()).version, before + 1);
      } catch (const Error&) {
        failed = true;
      }
      store_->clear();
      EXPECT_EQ(log_->update()->version(), failed ? before : before + 1);
    }
  }
}

TEST_F(CommitTest, TheStoresFailureLeavesNothing) {
  create();
  store_->clear();
  store_->inject({FileOperation::PutIfAbsent, 1, 28, 1, false});
  EXPECT_THROW(append(fileOf("a", "1")), Error);
  EXPECT_FALSE(exists(commitFileName(1)));
  store_->clear();
  EXPECT_EQ(append(fileOf("a", "1"))->version(), 1);
}

TEST_F(CommitTest, FaultPointsBeforeTheCommitLeaveNothing) {
  create();
  for (const char* point : {"deltaCommit.before=error", "deltaCommit.temp=error"}) {
    armFaultPoint(point);
    EXPECT_THROW(append(fileOf("a", "1")), Error) << point;
    EXPECT_FALSE(exists(commitFileName(1)));
  }
  armFaultPoint("deltaCommit.after=error");
  EXPECT_THROW(append(fileOf("a", "1")), Error);
  EXPECT_TRUE(exists(commitFileName(1)));
  EXPECT_EQ(log_->update()->numFiles(), 1);
}

TEST_F(CommitTest, FailuresAfterTheCommitDoNotFailIt) {
  create({{"delta.checkpointInterval", "1"}});
  int64_t version = 0;
  for (const char* point : {"deltaChecksum.before=error", "deltaCheckpoint.before=error",
                            "deltaCheckpoint.after=error", "lastCheckpoint.before=error"}) {
    armFaultPoint(point);
    ++version;
    EXPECT_EQ(append(fileOf("f" + std::to_string(version), "1"))->version(), version) << point;
    EXPECT_EQ(loadSnapshot(log_->table())->numFiles(), version);
  }
  EXPECT_FALSE(exists(checksumFileName(1)));
  EXPECT_TRUE(exists(classicCheckpointFileName(1)));
  EXPECT_FALSE(exists(classicCheckpointFileName(2)));
  EXPECT_TRUE(exists(classicCheckpointFileName(3)));
  EXPECT_EQ(readCheckpointHint(*memory_, "/t/_delta_log")->version, 1);
}

TEST_F(CommitTest, RefusesActionsThatTheProtocolForbids) {
  create({{"delta.appendOnly", "true"}});
  append(fileOf("a", "1"));
  const auto conditionOf = [&](const std::function<void(Transaction&)>& fill) -> std::string {
    Transaction transaction(log_, log_->require());
    fill(transaction);
    try {
      transaction.commit();
    } catch (const Error& error) {
      return error.condition();
    }
    return "";
  };
  EXPECT_EQ(conditionOf(removes("a", "1")), "DELTA_CANNOT_MODIFY_APPEND_ONLY");
  EXPECT_EQ(conditionOf(
                [](Transaction& transaction) { transaction.remove(removalOf(fileOf("a", "1"), 9, false)); }),
            "");
  EXPECT_EQ(conditionOf([](Transaction& transaction) {
              transaction.add(fileOf("b%20c", "1"));
              transaction.add(fileOf("b c", "1"));
            }),
            "DELTA_DUPLICATE_ACTIONS_FOUND");
}

TEST_F(CommitTest, ReplaceOfADeletionVectorKeepsTheOtherPairGone) {
  create({{"delta.enableDeletionVectors", "true"}});
  const SnapshotPtr before = append(fileOf("a", "1"));
  DeletionVector vector{"u", "ab^-aqEH.-t@S}K{vb[*k^", 1, 34, 2, std::nullopt};
  Transaction transaction(log_, before);
  transaction.readFile(fileOf("a", "1"));
  AddFile marked = fileOf("a", "1");
  marked.deletionVector = vector;
  transaction.add(marked);
  transaction.remove(removalOf(fileOf("a", "1"), 9));
  const SnapshotPtr after = won(transaction.commit());
  EXPECT_EQ(after->numFiles(), 1);
  EXPECT_EQ(after->files().totals().numDeletionVectors, 1);
  EXPECT_TRUE(after->files().containsLive("a", vector.uniqueId()));
  EXPECT_FALSE(after->files().containsLive("a", ""));
}

TEST_F(CommitTest, GivesUpAfterTheGivenNumberOfRaces) {
  create();
  const SnapshotPtr base = append(fileOf("a", "1"));
  append(fileOf("b", "1"));
  Transaction transaction(log_, base);
  transaction.setLimits({1, 1});
  transaction.add(fileOf("c", "1"));
  try {
    transaction.commit();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.condition(), "DELTA_MAX_COMMIT_RETRIES_EXCEEDED");
  }
}

TEST_F(CommitTest, ACommitNeitherListsNorReadsTheTable) {
  create({{"delta.checkpointInterval", "1000"}});
  SnapshotPtr head = append(fileOf("a", "1"));
  const int64_t listsBefore = store_->calls(FileOperation::List);
  const int64_t readsBefore = store_->calls(FileOperation::Read);
  for (int i = 0; i < 20; ++i) {
    Transaction transaction(log_, head);
    transaction.add(fileOf("f" + std::to_string(i), "1"));
    head = won(transaction.commit());
  }
  EXPECT_EQ(store_->calls(FileOperation::List), listsBefore);
  EXPECT_EQ(store_->calls(FileOperation::Read), readsBefore);
  EXPECT_EQ(head->numFiles(), 21);
}

class LocalCommitTest : public testing::Test {
 protected:
  LocalCommitTest() : path_(fs::temp_directory_path() / ("thalweg-delta-" + randomUuid())) {
    fs::create_directories(path_);
  }
  ~LocalCommitTest() override { fs::remove_all(path_); }
  fs::path path_;
};

TEST_F(LocalCommitTest, TwoWritersOf200CommitsLoseNothing) {
  const Location table{makeLocalFileSystem(), path_.string()};
  auto shared = std::make_shared<DeltaLog>(table);
  {
    Transaction transaction(shared, nullptr);
    transaction.setMetadata(tableMetadata());
    ASSERT_TRUE(std::holds_alternative<Committed>(transaction.commit()));
  }
  constexpr int kCommits = 200;
  std::atomic<int> failures{0};
  // Handles of their own: the two do not share a cache, as two processes would not.
  const auto writer = [&](const std::string& name) {
    auto log = std::make_shared<DeltaLog>(table);
    for (int i = 0; i < kCommits; ++i) {
      Transaction transaction(log, log->require());
      transaction.add(fileOf(name + std::to_string(i), "1"));
      transaction.setTransaction({name, i, std::nullopt});
      if (!std::holds_alternative<Committed>(transaction.commit())) ++failures;
    }
  };
  std::thread first(writer, "first");
  std::thread second(writer, "second");
  first.join();
  second.join();
  EXPECT_EQ(failures, 0);
  const SnapshotPtr end = shared->update();
  EXPECT_EQ(end->version(), 2 * kCommits);
  EXPECT_EQ(end->numFiles(), 2 * kCommits);
  const SnapshotPtr loaded = loadSnapshot(table);
  EXPECT_EQ(loaded->version(), 2 * kCommits);
  EXPECT_EQ(loaded->numFiles(), 2 * kCommits);
  EXPECT_EQ(loaded->transactionVersion("first"), kCommits - 1);
  EXPECT_EQ(loaded->transactionVersion("second"), kCommits - 1);
  const auto checksum = readChecksum(*table.fileSystem, end->logPath(), end->version());
  ASSERT_TRUE(checksum);
  EXPECT_EQ(checksum->numFiles, 2 * kCommits);
}

}  // namespace
}  // namespace thalweg::delta
