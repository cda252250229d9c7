#include "delta/maintain/vacuum.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "delta/checkpoint/checkpoint_writer.h"
#include "delta/commit/read_hook_for_tests.h"
#include "delta/log/log_files.h"
#include "delta/maintain/optimize.h"
#include "delta/maintain/restore.h"
#include "delta/maintain/table_for_tests.h"

namespace thalweg::delta {
namespace {

constexpr int64_t kHourMs = 3'600'000;
constexpr int64_t kDayMs = 24 * kHourMs;

class VacuumTest : public TableTest {
 protected:
  VacuumReport vacuum() { return vacuumTable(log_, request_, nullptr); }
  std::string conditionOfVacuum() {
    try {
      vacuum();
    } catch (const Error& error) {
      return error.condition();
    }
    return "";
  }
  bool exists(const std::string& logPath) { return files_->stat("/t/" + logPath).has_value(); }
  void put(const std::string& path) { files_->writeAtomically("/t/" + path, "foreign"); }

  VacuumRequest request_;
};

TEST_F(VacuumTest, WhatNoVersionHasGoesOnceItIsOlderThanTheRetention) {
  append("a", {{1, ""}});
  put("p=a/left-by-a-writer-that-died.parquet");
  clock_.laterMs = 6 * kDayMs;
  EXPECT_EQ(vacuum().numDeleted, 0) << "its writer may be about to commit";
  clock_.laterMs = 8 * kDayMs;
  EXPECT_EQ(vacuum().numDeleted, 1);
  EXPECT_EQ(rows().at("a").size(), 1u);
}

TEST_F(VacuumTest, ARemovedFileStaysAWeekAndThenGoes) {
  const AddFile removed = append("a", {{1, ""}});
  const AddFile live = append("a", {{2, ""}});
  clock_.laterMs = 3 * kDayMs;
  removeFile(removed);
  clock_.laterMs = 9 * kDayMs;
  EXPECT_EQ(vacuum().numDeleted, 0) << "a version of six days ago needs it";
  clock_.laterMs = 10 * kDayMs + kHourMs;
  request_.dryRun = true;
  const VacuumReport planned = vacuum();
  EXPECT_EQ(planned.paths, std::vector<std::string>{"memory:/t/" + removed.path});
  EXPECT_TRUE(exists(removed.path));
  request_.dryRun = false;
  EXPECT_EQ(vacuum().numDeleted, 1);
  EXPECT_FALSE(exists(removed.path));
  EXPECT_TRUE(exists(live.path));
  EXPECT_EQ(rows().at("a").size(), 1u);
}

TEST_F(VacuumTest, ALongerRetentionThanTheTablesIsKeptThoughTheSnapshotHasForgottenTheRemoval) {
  const AddFile removed = append("a", {{1, ""}});
  append("a", {{2, ""}});
  removeFile(removed);
  clock_.laterMs = 20 * kDayMs;
  log_ = std::make_shared<DeltaLog>(Location{store_, "/t"}, clock_);
  request_.retentionMs = 30 * kDayMs;
  EXPECT_EQ(vacuum().numDeleted, 0);
  request_.retentionMs = 15 * kDayMs;
  EXPECT_EQ(vacuum().numDeleted, 1);
}

TEST_F(VacuumTest, AShorterRetentionIsRefusedUnlessTheCheckIsOff) {
  const AddFile removed = append("a", {{1, ""}});
  removeFile(removed);
  request_.retentionMs = 0;
  EXPECT_EQ(conditionOfVacuum(), "DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT");
  request_.retentionMs = -1;
  EXPECT_EQ(conditionOfVacuum(), "DELTA_VACUUM_RETENTION_PERIOD_NEGATIVE");
  request_.retentionMs = 0;
  request_.checkRetention = false;
  clock_.laterMs = 1000;
  EXPECT_EQ(vacuum().numDeleted, 1);
}

TEST_F(VacuumTest, HiddenNamesStayButPartitionFoldersAndOldChangesDoNot) {
  append("a", {{1, ""}});
  for (const char* path :
       {"_hidden/x.parquet", ".hidden/x.parquet", "p=a/_metadata", "p=a/.x.crc", "_other=1/x"})
    put(path);
  for (const char* path :
       {"_change_data/cdc-1.parquet", "p=zz/x.parquet", "loose", "sub/_change_data_not/x", "sub/x"})
    put(path);
  clock_.laterMs = 8 * kDayMs;
  EXPECT_EQ(vacuum().numDeleted, 4);
  for (const char* path : {"_hidden/x.parquet", ".hidden/x.parquet", "p=a/_metadata", "p=a/.x.crc",
                           "_other=1/x", "sub/_change_data_not/x"})
    EXPECT_TRUE(exists(path)) << path;
  EXPECT_EQ(rows().at("a").size(), 1u);
}

TEST_F(VacuumTest, VectorsOfLiveFilesAndOfRetainedVersionsStay) {
  const AddFile file = append("a", {{1, ""}, {2, ""}, {3, ""}});
  const auto withVector = [&](AddFile one, const std::string& name, const std::vector<int64_t>& rows) {
    // As Delta names them: 20 characters of base 85.
    one.deletionVector = inlineDeletionVector(*DeletedRows::none()->with(rows));
    one.deletionVector->storageType = "u";
    one.deletionVector->pathOrInlineDv = name;
    one.deletionVector->offset = 1;
    return one;
  };
  const AddFile first = withVector(file, "vBn[lx{q8@P<9BNH/isA", {0});
  const AddFile second = withVector(file, "^-aqEH.-t@S}K{vb[*k^", {0, 1});
  const auto replace = [&](const AddFile& before, const AddFile& after) {
    Transaction transaction(log_, log_->require());
    transaction.readFile(before);
    transaction.remove(removalOf(before, clock_.nowMillis()));
    transaction.add(after);
    transaction.setOperation({"DELETE", {}, {}, {}, {}});
    ASSERT_TRUE(std::holds_alternative<Committed>(transaction.commit()));
  };
  // The protocol's own example of a name.
  const std::string later = "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin";
  put(later);
  put("deletion_vector_00000000-0000-0000-0000-000000000000.bin");
  replace(file, first);
  clock_.laterMs = 8 * kDayMs;
  replace(first, second);
  put("deletion_vector_ffffffff-0000-0000-0000-000000000000.bin");
  const VacuumReport report = vacuum();
  EXPECT_TRUE(exists(later)) << "the live file's";
  EXPECT_FALSE(exists("deletion_vector_00000000-0000-0000-0000-000000000000.bin"));
  EXPECT_TRUE(exists(file.path));
  EXPECT_EQ(report.numDeleted, 2);
}

TEST_F(VacuumTest, StartAndEndAreInTheHistory) {
  const AddFile removed = append("a", {{1, ""}});
  append("a", {{2, ""}});
  removeFile(removed);
  clock_.laterMs = 8 * kDayMs;
  request_.retentionMs = 7 * kDayMs;
  vacuum();
  const auto history = log_->history(2);
  EXPECT_EQ(history[0].operation, "VACUUM END");
  EXPECT_EQ(history[0].operationParameters.at("status"), "COMPLETED");
  EXPECT_EQ(history[0].operationMetrics.at("numDeletedFiles"), "1");
  EXPECT_EQ(history[0].operationMetrics.at("numVacuumedDirectories"), "2");
  EXPECT_EQ(history[0].isolationLevel, "SnapshotIsolation");
  EXPECT_EQ(history[0].isBlindAppend, true);
  EXPECT_EQ(history[1].operation, "VACUUM START");
  EXPECT_EQ(history[1].operationParameters.at("retentionCheckEnabled"), "true");
  EXPECT_EQ(history[1].operationParameters.at("defaultRetentionMillis"), "604800000");
  EXPECT_EQ(history[1].operationParameters.at("specifiedRetentionMillis"), "604800000");
  EXPECT_EQ(history[1].operationMetrics.at("numFilesToDelete"), "1");
  EXPECT_EQ(history[1].operationMetrics.at("sizeOfDataToDelete"), std::to_string(removed.size));
}

TEST_F(VacuumTest, AFailureIsInTheHistoryToo) {
  removeFile(append("a", {{1, ""}}));
  clock_.laterMs = 8 * kDayMs;
  store_->inject({.operation = FileOperation::Remove, .call = store_->calls(FileOperation::Remove) + 1});
  EXPECT_NE(conditionOfVacuum(), "");
  store_->clear();
  EXPECT_EQ(log_->history(1)[0].operationParameters.at("status"), "FAILED");
  EXPECT_EQ(vacuum().numDeleted, 1);
}

TEST_F(VacuumTest, LiteTakesWhatTheLogSaysWasRemovedAndNothingElse) {
  const AddFile first = append("a", {{1, ""}});
  const AddFile second = append("a", {{2, ""}});
  append("a", {{3, ""}});
  removeFile(first);
  put("p=a/left-by-a-writer-that-died.parquet");
  clock_.laterMs = 8 * kDayMs;
  removeFile(second);
  request_.lite = true;
  // The commits' own files are of today, by the store's clock: nothing is older than the retention for them.
  clock_.laterMs = 16 * kDayMs;
  const VacuumReport report = vacuum();
  EXPECT_EQ(report.numDeleted, 2);
  EXPECT_FALSE(exists(first.path));
  EXPECT_FALSE(exists(second.path));
  EXPECT_TRUE(exists("p=a/left-by-a-writer-that-died.parquet"));
  const auto hint = nlohmann::json::parse(files_->readAll("/t/_delta_log/_last_vacuum_info"));
  EXPECT_EQ(hint.at("latestCommitVersionOutsideOfRetentionWindow"), 5);
  files_->remove("/t/_delta_log/_last_vacuum_info");
  setProperty("delta.checkpointInterval", "1");
  files_->remove("/t/_delta_log/00000000000000000000.json");
  log_ = std::make_shared<DeltaLog>(Location{store_, "/t"}, clock_);
  EXPECT_EQ(conditionOfVacuum(), "DELTA_CANNOT_VACUUM_LITE");
}

// A clean-up of the log takes commits while they are read.
class VacuumOverACleanUpTest : public VacuumTest {
 protected:
  VacuumOverACleanUpTest() {
    removed_ = append("a", {{1, ""}});
    append("a", {{2, ""}});
    removeFile(removed_);
    append("a", {{3, ""}});
  }
  // When the commit of `version` is about to be read, it and those before it go.
  void cleanUpWhenReading(int64_t version) {
    writeCheckpoint(*log_->require(), clock_);
    const auto hook = std::make_shared<ReadHook>(files_);
    log_ = std::make_shared<DeltaLog>(Location{hook, "/t"}, clock_);
    log_->require();
    hook->ending = commitFileName(version);
    hook->action = [this, version] {
      for (int64_t one = 0; one <= version; ++one) files_->remove("/t/_delta_log/" + commitFileName(one));
      cleanedUp_ = true;
    };
  }

  AddFile removed_;
  bool cleanedUp_ = false;
};

TEST_F(VacuumOverACleanUpTest, LiteSaysThatItNeedsAllCommits) {
  request_.lite = true;
  clock_.laterMs = 8 * kDayMs;
  cleanUpWhenReading(1);
  EXPECT_EQ(conditionOfVacuum(), "DELTA_CANNOT_VACUUM_LITE");
  EXPECT_TRUE(cleanedUp_);
  EXPECT_TRUE(exists(removed_.path)) << "what its commits said is not known";
}

TEST_F(VacuumOverACleanUpTest, FullGoesByTheSnapshotAndTheCommitsThatAreLeft) {
  setProperty("delta.enableChangeDataFeed", "true");
  clock_.laterMs = 7 * kDayMs + 12 * kHourMs;
  cleanUpWhenReading(5);
  EXPECT_EQ(vacuum().numDeleted, 1);
  EXPECT_TRUE(cleanedUp_);
  EXPECT_FALSE(exists(removed_.path));
  EXPECT_EQ(rows().at("a").size(), 2u);
}

TEST_F(VacuumTest, AFileNamedByAnotherWayToTheTableStays) {
  AddFile file = append("a", {{1, ""}});
  removeFile(file);
  Transaction transaction(log_, log_->require());
  AddFile elsewhere = file;
  elsewhere.path = "file:/linked/t/" + file.path;
  transaction.add(elsewhere);
  transaction.setOperation({"CLONE", {}, {}, {}, {}});
  transaction.commit();
  clock_.laterMs = 8 * kDayMs;
  EXPECT_EQ(vacuum().numDeleted, 0);
}

// Real folders, links and all.
class VacuumOnDiskTest : public testing::Test {
 protected:
  VacuumOnDiskTest()
      : root_(std::filesystem::temp_directory_path() / ("thalweg-vacuum-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ / "t");
    std::filesystem::create_directories(root_ / "outside");
    log_ = std::make_shared<DeltaLog>(Location{makeLocalFileSystem(), (root_ / "t").string()}, clock_);
    Transaction transaction(log_, nullptr);
    Metadata metadata;
    metadata.schemaString =
        R"({"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{}}]})";
    transaction.setMetadata(metadata);
    transaction.setOperation({"CREATE TABLE", {}, {}, {}, {}});
    transaction.commit();
  }
  ~VacuumOnDiskTest() override { std::filesystem::remove_all(root_); }
  void put(const std::string& path) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << "x";
  }

  std::filesystem::path root_;
  LaterClock clock_;
  std::shared_ptr<DeltaLog> log_;
};

TEST_F(VacuumOnDiskTest, WhatLinksLeadToStaysAndEmptyFoldersGoAPassLater) {
  put("outside/precious");
  put("t/d/e/old");
  std::filesystem::create_directory_symlink(root_ / "outside", root_ / "t" / "link");
  std::filesystem::create_directory_symlink(root_ / "t", root_ / "t" / "loop");
  clock_.laterMs = 8 * kDayMs;
  EXPECT_EQ(vacuumTable(log_, {}, nullptr).numDeleted, 1);
  EXPECT_TRUE(std::filesystem::exists(root_ / "outside/precious"));
  EXPECT_TRUE(std::filesystem::exists(root_ / "t/d/e"));
  EXPECT_EQ(vacuumTable(log_, {}, nullptr).numDeleted, 1);
  EXPECT_FALSE(std::filesystem::exists(root_ / "t/d/e"));
  EXPECT_EQ(vacuumTable(log_, {}, nullptr).numDeleted, 1);
  EXPECT_FALSE(std::filesystem::exists(root_ / "t/d"));
  EXPECT_TRUE(std::filesystem::exists(root_ / "t/link"));
}

class RestoreTest : public TableTest {
 protected:
  RestoreReport restore(int64_t version) {
    request_.version = version;
    return restoreTable(log_, request_, runTasks, nullptr);
  }
  std::string conditionOfRestore(int64_t version) {
    try {
      restore(version);
    } catch (const Error& error) {
      return error.condition();
    }
    return "";
  }
  RestoreRequest request_;
};

TEST_F(RestoreTest, TheTableIsWhatItWasAndEveryVersionStaysReadable) {
  const AddFile first = append("a", {{1, "a"}, {2, "b"}});
  const auto one = rows();
  deleteRows(first, {0});
  const auto two = rows();
  append("b", {{3, "c"}});
  const auto three = rows();
  setProperty("delta.checkpointInterval", "7");
  RestoreReport report = restore(1);
  EXPECT_EQ(report.numRestoredFiles, 1) << "the file without its vector";
  EXPECT_EQ(report.numRemovedFiles, 2);
  EXPECT_EQ(report.numOfFilesAfterRestore, 1);
  EXPECT_EQ(report.tableSizeAfterRestore, first.size);
  EXPECT_EQ(report.restoredFilesSize, first.size);
  EXPECT_EQ(rows(), one);
  EXPECT_FALSE(log_->require()->metadata().configuration.contains("delta.checkpointInterval"));
  report = restore(3);
  EXPECT_EQ(report.numRestoredFiles, 2);
  EXPECT_EQ(report.numRemovedFiles, 1);
  EXPECT_EQ(rows(), three);
  EXPECT_EQ(rows(log_->snapshotAt(2)), two);
  EXPECT_EQ(rows(log_->snapshotAt(5)), one);
  const HistoryEntry entry = log_->history(1)[0];
  EXPECT_EQ(entry.operation, "RESTORE");
  EXPECT_EQ(entry.operationParameters.at("version"), "3");
  EXPECT_EQ(entry.operationParameters.at("timestamp"), std::nullopt);
  EXPECT_EQ(entry.operationMetrics.at("numRestoredFiles"), "2");
}

TEST_F(RestoreTest, VersionsAndTimesThatAreNotThereAreRefused) {
  append("a", {{1, ""}});
  EXPECT_EQ(conditionOfRestore(99), "DELTA_CANNOT_RESTORE_TABLE_VERSION");
  request_.version.reset();
  const auto condition = [&](int64_t ms) -> std::string {
    RestoreRequest request;
    request.timestampMs = ms;
    try {
      restoreTable(log_, request, runTasks, nullptr);
    } catch (const Error& error) {
      return error.condition();
    }
    return "";
  };
  EXPECT_EQ(condition(0), "DELTA_CANNOT_RESTORE_TIMESTAMP_EARLIER");
  EXPECT_EQ(condition(int64_t{32503680000000}), "DELTA_CANNOT_RESTORE_TIMESTAMP_GREATER");
  EXPECT_EQ(condition(log_->require()->timestampMs()), "");
}

TEST_F(RestoreTest, MissingFilesAreNamedUnlessTheyAreToBeIgnored) {
  const AddFile file = append("a", {{1, ""}});
  removeFile(file);
  files_->remove("/t/" + file.path);
  EXPECT_EQ(conditionOfRestore(1), "DELTA_FILE_NOT_FOUND");
  request_.ignoreMissingFiles = true;
  EXPECT_EQ(conditionOfRestore(1), "");
  EXPECT_EQ(log_->require()->numFiles(), 1);
}

TEST_F(RestoreTest, TheProtocolKeepsWhatItHasAndTransactionsGoOn) {
  append("a", {{1, ""}});
  Transaction transaction(log_, log_->require());
  transaction.setTransaction({"query", 7, std::nullopt});
  transaction.setOperation({"STREAMING UPDATE", {}, {}, {}, {}});
  transaction.commit();
  setProperty("delta.columnMapping.mode", "none");
  const Protocol before = log_->require()->protocol();
  restore(1);
  EXPECT_EQ(log_->require()->protocol(), before);
  EXPECT_EQ(log_->require()->transactionVersion("query"), 7);
}

}  // namespace
}  // namespace thalweg::delta
