// Logs of other writers, replayed: versions, protocols, files and schemas against what those writers said of
// them.
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "delta/log/file_paths.h"
#include "delta/log/log_files.h"
#include "delta/log/version_checksum.h"
#include "delta/snapshot/delta_log.h"
#include "types/schema_json.h"

namespace thalweg::delta {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json readJson(const fs::path& path) {
  std::ifstream stream(path);
  return json::parse(stream);
}

Location local(const fs::path& path) {
  return {makeLocalFileSystem(), fs::weakly_canonical(path).string()};
}

// Features that are refused for now, by their manifest names.
bool isRefused(const json& protocol) {
  static const std::set<std::string> kRefused = {"catalogManaged"};
  if (!protocol.is_object() || !protocol.contains("readerFeatures") || protocol["readerFeatures"].is_null())
    return false;
  for (const json& name : protocol["readerFeatures"]) {
    if (kRefused.contains(name.get<std::string>())) return true;
  }
  return false;
}

int64_t rowsByStatistics(const Snapshot& snapshot, bool& complete) {
  int64_t rows = 0;
  complete = true;
  for (const AddFile& add : snapshot.liveFiles()) {
    const json stats = add.stats ? json::parse(*add.stats, nullptr, false) : json();
    if (!stats.is_object() || !stats.contains("numRecords")) {
      complete = false;
      continue;
    }
    rows += stats["numRecords"].get<int64_t>();
    if (add.deletionVector) rows -= add.deletionVector->cardinality;
  }
  return rows;
}

void checkAgainstChecksum(const Snapshot& snapshot) {
  const auto checksum = readChecksum(*snapshot.table().fileSystem, snapshot.logPath(), snapshot.version());
  if (!checksum) {
    const std::string path = snapshot.logPath() + "/" + checksumFileName(snapshot.version());
    if (!snapshot.table().fileSystem->stat(path)) return;
    // Writers before Delta 2 left out what the protocol asks for now: such a file says too little to be used.
    const json text = json::parse(snapshot.table().fileSystem->readAll(path));
    EXPECT_FALSE(text.contains("metadata") && text.contains("protocol")) << "it does not parse";
    return;
  }
  EXPECT_EQ(snapshot.numFiles(), checksum->numFiles);
  EXPECT_EQ(snapshot.sizeInBytes(), checksum->tableSizeBytes);
  EXPECT_EQ(snapshot.protocol(), checksum->protocol);
  EXPECT_EQ(snapshot.metadata().id, checksum->metadata.id);
  EXPECT_EQ(snapshot.metadata().configuration, checksum->metadata.configuration);
  EXPECT_EQ(snapshot.metadata().schemaString, checksum->metadata.schemaString);
  if (checksum->setTransactions) {
    EXPECT_EQ(snapshot.transactions().size(), checksum->setTransactions->size());
    for (const auto& transaction : *checksum->setTransactions) {
      EXPECT_EQ(snapshot.transactionVersion(transaction.appId), transaction.version);
    }
  }
  if (checksum->domainMetadata) {
    EXPECT_EQ(snapshot.domainMetadata().size(), checksum->domainMetadata->size());
  }
}

void checkLiveFiles(const Snapshot& snapshot, const fs::path& expected) {
  const json wanted = readJson(expected);
  EXPECT_EQ(snapshot.version(), wanted["version"].get<int64_t>());
  std::map<std::string, int64_t> live;
  for (const AddFile& add : snapshot.liveFiles()) live.emplace(decodeLogPath(add.path), add.size);
  std::map<std::string, int64_t> wantedFiles;
  for (const json& file : wanted["liveFiles"]) {
    wantedFiles.emplace(decodeLogPath(file["path"].get<std::string>()), file["size"].get<int64_t>());
  }
  EXPECT_EQ(live, wantedFiles);
}

void checkTable(const fs::path& root, const json& entry) {
  const json& answer = entry["answer"];
  const std::string kind = answer["kind"];
  const json protocol = entry.value("protocol", json());
  const Location table = local(root / entry["path"].get<std::string>() / "delta");
  if (isRefused(protocol)) {
    try {
      loadSnapshot(table);
      ADD_FAILURE() << "read in spite of its features";
    } catch (const Error& error) {
      EXPECT_EQ(error.condition(), "DELTA_UNSUPPORTED_FEATURES_FOR_READ");
    }
    return;
  }
  if (kind == "error") {
    try {
      loadSnapshot(table);
      ADD_FAILURE() << "read in spite of " << answer;
    } catch (const Error& error) {
      EXPECT_EQ(error.condition(), answer["error"].get<std::string>());
    }
    return;
  }
  const SnapshotPtr snapshot = loadSnapshot(table);
  ASSERT_TRUE(snapshot);
  if (entry["lastJsonVersion"].is_number()) {
    EXPECT_GE(snapshot->version(), entry["lastJsonVersion"].get<int64_t>());
  }
  if (protocol.is_object()) {
    EXPECT_EQ(snapshot->protocol().minReaderVersion, protocol["minReaderVersion"].get<int32_t>());
    EXPECT_EQ(snapshot->protocol().minWriterVersion, protocol["minWriterVersion"].get<int32_t>());
  }
  // The .crc of this table is made up and belongs to no commit.
  if (!entry["path"].get<std::string>().ends_with("crc-full")) checkAgainstChecksum(*snapshot);
  if (kind == "log")
    checkLiveFiles(*snapshot, root / entry["path"].get<std::string>() / answer["path"].get<std::string>());
  if (answer.contains("rows") && answer["rows"].is_number()) {
    bool complete = false;
    const int64_t rows = rowsByStatistics(*snapshot, complete);
    if (complete) {
      EXPECT_EQ(rows, answer["rows"].get<int64_t>());
    }
  }
}

TEST(Fixtures, EveryTableOfTheManifest) {
  const fs::path root = fs::path(THALWEG_SHARED_DIR) / "testdata/delta";
  if (!fs::exists(root / "MANIFEST.json")) GTEST_SKIP() << "no shared test data";
  size_t tables = 0;
  const json manifest = readJson(root / "MANIFEST.json");
  for (const json& entry : manifest["tables"]) {
    if (entry["answer"]["kind"] == "count") continue;
    SCOPED_TRACE(entry["path"].get<std::string>());
    try {
      checkTable(root, entry);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    ++tables;
  }
  EXPECT_GT(tables, 140u);
}

std::vector<fs::path> sparkTables() {
  std::vector<fs::path> tables;
  const fs::path root = fs::path(THALWEG_SHARED_DIR) / "testdata/spark-checkpoints";
  if (!fs::exists(root)) return tables;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_directory() && entry.path().filename() == "_delta_log")
      tables.push_back(entry.path().parent_path());
  }
  return tables;
}

TEST(Fixtures, EveryVersionOfSparksStreamingTables) {
  const auto tables = sparkTables();
  if (tables.empty()) GTEST_SKIP() << "no shared test data";
  for (const fs::path& path : tables) {
    SCOPED_TRACE(path.string());
    const SnapshotPtr newest = loadSnapshot(local(path));
    ASSERT_TRUE(newest);
    checkAgainstChecksum(*newest);
    for (int64_t version = 0; version < newest->version(); ++version) {
      SCOPED_TRACE(version);
      try {
        checkAgainstChecksum(*loadSnapshot(local(path), version));
      } catch (const Error& error) {
        // Logs that were cleaned start with a checkpoint.
        EXPECT_EQ(error.condition(), "DELTA_TRUNCATED_TRANSACTION_LOG") << error.what();
      }
    }
    const fs::path meta = path.parent_path() / "meta.json";
    if (path.filename() != "table" || !fs::exists(meta)) continue;
    const json schema = readJson(meta).value("schema", json());
    if (schema.is_object()) {
      EXPECT_TRUE(equals(*newest->schema(), *parseSchemaJson(schema.dump()))) << meta;
    }
  }
}

// The newest version read from its checkpoint equals the one read from the commits alone.
TEST(Fixtures, CheckpointAndCommitsAgree) {
  const auto tables = sparkTables();
  if (tables.empty()) GTEST_SKIP() << "no shared test data";
  size_t compared = 0;
  for (const fs::path& path : tables) {
    SCOPED_TRACE(path.string());
    const SnapshotPtr byCheckpoint = loadSnapshot(local(path));
    if (!byCheckpoint->checkpointVersion()) continue;
    const auto copy = makeMemoryFileSystem();
    for (const auto& file : fs::directory_iterator(path / "_delta_log")) {
      const std::string name = file.path().filename();
      if (!name.ends_with(".json") || name.find("checkpoint") != std::string::npos) continue;
      std::stringstream text;
      text << std::ifstream(file.path()).rdbuf();
      copy->writeAtomically("/t/_delta_log/" + name, text.str());
    }
    const SnapshotPtr byCommits = loadSnapshot({copy, "/t"});
    EXPECT_EQ(byCheckpoint->numFiles(), byCommits->numFiles());
    std::map<std::string, AddFile> left;
    std::map<std::string, AddFile> right;
    for (const AddFile& add : byCheckpoint->liveFiles()) left.emplace(add.path, add);
    for (const AddFile& add : byCommits->liveFiles()) right.emplace(add.path, add);
    for (const auto& [key, add] : left) {
      ASSERT_TRUE(right.contains(key));
      const AddFile& other = right[key];
      EXPECT_EQ(add.size, other.size);
      EXPECT_EQ(add.modificationTime, other.modificationTime);
      EXPECT_EQ(add.partitionValues, other.partitionValues);
      EXPECT_EQ(add.stats, other.stats);
      EXPECT_EQ(add.deletionVector, other.deletionVector);
    }
    ++compared;
  }
  EXPECT_GT(compared, 0u);
}

}  // namespace
}  // namespace thalweg::delta
