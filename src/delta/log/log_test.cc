#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "common/error.h"
#include "common/testing/condition_of.h"
#include "delta/log/checkpoint_hint.h"
#include "delta/log/file_paths.h"
#include "delta/log/log_files.h"
#include "delta/log/log_segment.h"
#include "delta/log/version_checksum.h"
#include "storage/fault_file_system.h"

namespace thalweg::delta {
namespace {

namespace fs = std::filesystem;

const std::string kLog = "/t/_delta_log";

// A log whose files hold nothing but one byte: listing looks at names and sizes only.
std::shared_ptr<FileSystem> logOf(const std::vector<std::string>& names) {
  auto store = makeMemoryFileSystem();
  for (const std::string& name : names) store->writeAtomically(kLog + "/" + name, "x");
  return store;
}

std::string v(int64_t version, const std::string& rest) {
  return firstNameOfVersion(version) + rest;
}

TEST(LogFiles, ParsesTheProtocolsNames) {
  EXPECT_EQ(parseLogFileName("00000000000000000007.json")->kind, LogFileKind::Commit);
  EXPECT_EQ(parseLogFileName("00000000000000000007.json")->version, 7);
  EXPECT_EQ(parseLogFileName("00000000000000000007.crc")->kind, LogFileKind::Checksum);
  EXPECT_EQ(parseLogFileName("00000000000000000007.checkpoint.parquet")->kind,
            LogFileKind::ClassicCheckpoint);
  const auto part = parseLogFileName("00000000000000000007.checkpoint.0000000002.0000000003.parquet");
  EXPECT_EQ(part->kind, LogFileKind::MultiPartCheckpoint);
  EXPECT_EQ(part->part, 2);
  EXPECT_EQ(part->parts, 3);
  const std::string uuid = "80a083e8-7026-4e79-81be-64bd76c43a11";
  EXPECT_EQ(parseLogFileName("00000000000000000007.checkpoint." + uuid + ".json")->kind,
            LogFileKind::UuidCheckpoint);
  EXPECT_EQ(parseLogFileName("00000000000000000007.checkpoint." + uuid + ".parquet")->kind,
            LogFileKind::UuidCheckpoint);
  const auto compacted = parseLogFileName("00000000000000000004.00000000000000000006.compacted.json");
  EXPECT_EQ(compacted->kind, LogFileKind::Compacted);
  EXPECT_EQ(compacted->version, 4);
  EXPECT_EQ(compacted->endVersion, 6);
}

TEST(LogFiles, SkipsEverythingElse) {
  for (const char* name :
       {".00000000000000000000.json.crc", "_last_checkpoint", "_staged_commits", "a.json", "1.txt", "",
        "00000000000000000007", "00000000000000000007.80a083e8.json",
        "00000000000000000007.checkpoint.0000000004.0000000003.parquet",
        "00000000000000000007.checkpoint.0000000000.0000000003.parquet", "99999999999999999999.json",
        "-1.json", "+1.json", "7.checkpoint..parquet",
        "00000000000000000006.00000000000000000004.compacted.json", "7.checkpoint.a.b.c.parquet"}) {
    EXPECT_FALSE(parseLogFileName(name)) << name;
  }
}

TEST(LogFiles, NamesHaveTwentyDigits) {
  EXPECT_EQ(commitFileName(12), "00000000000000000012.json");
  EXPECT_EQ(checksumFileName(0), "00000000000000000000.crc");
  EXPECT_EQ(classicCheckpointFileName(10), "00000000000000000010.checkpoint.parquet");
}

TEST(FilePaths, OneFileHasOneForm) {
  EXPECT_EQ(canonicalFilePath("/some/unqualified/absolute/path", "/t"), "/some/unqualified/absolute/path");
  EXPECT_EQ(canonicalFilePath("file:/some/unqualified/absolute/path", "/t"),
            "/some/unqualified/absolute/path");
  EXPECT_EQ(canonicalFilePath("file:///t/p=1/a%20b.parquet", "/t"), "p=1/a b.parquet");
  EXPECT_EQ(canonicalFilePath("p=1/a%20b.parquet", "/t"), "p=1/a b.parquet");
  EXPECT_EQ(canonicalFilePath("p=a%253Ab/x", "/t"), "p=a%3Ab/x") << "decoded once";
  EXPECT_EQ(canonicalFilePath("/table2/x", "/table"), "/table2/x");
  EXPECT_EQ(canonicalFilePath("s3://bucket/x", "/t"), "s3://bucket/x");
  EXPECT_EQ(canonicalFilePath("100%", "/t"), "100%");
  EXPECT_EQ(canonicalFilePath("a%zz%4", "/t"), "a%zz%4");
}

TEST(LogSegmentListing, WithoutCheckpointAllCommits) {
  const auto store = logOf({v(0, "json"), v(1, "json"), v(2, "json"), v(1, "crc"), ".x", "0.tmp"});
  const auto segment = listLogSegment(*store, kLog);
  EXPECT_EQ(segment->version, 2);
  EXPECT_FALSE(segment->checkpoint);
  EXPECT_EQ(segment->commits.size(), 3u);
  EXPECT_EQ(listLogSegment(*store, kLog, 1)->commits.size(), 2u);
}

TEST(LogSegmentListing, NothingThereIsNoTable) {
  EXPECT_FALSE(listLogSegment(*makeMemoryFileSystem(), kLog));
}

TEST(LogSegmentListing, TheNewestCheckpointNotPastTheTarget) {
  const auto store = logOf(
      {v(1, "checkpoint.parquet"), v(2, "json"), v(3, "checkpoint.parquet"), v(3, "json"), v(4, "json")});
  EXPECT_EQ(listLogSegment(*store, kLog)->checkpoint->version, 3);
  EXPECT_EQ(listLogSegment(*store, kLog)->commits.size(), 1u);
  EXPECT_EQ(listLogSegment(*store, kLog, 2)->checkpoint->version, 1);
  EXPECT_EQ(listLogSegment(*store, kLog, 1)->commits.size(), 0u);
}

TEST(LogSegmentListing, PrefersUuidThenMultiPartThenClassic) {
  const std::string uuid = v(2, "checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json");
  std::vector<std::string> names = {v(0, "json"), v(1, "json"), v(2, "json"), v(2, "checkpoint.parquet")};
  EXPECT_EQ(listLogSegment(*logOf(names), kLog)->checkpoint->files.size(), 1u);
  names.push_back(v(2, "checkpoint.0000000001.0000000002.parquet"));
  EXPECT_EQ(listLogSegment(*logOf(names), kLog)->checkpoint->files.size(), 1u) << "a part is missing";
  names.push_back(v(2, "checkpoint.0000000002.0000000002.parquet"));
  EXPECT_EQ(listLogSegment(*logOf(names), kLog)->checkpoint->files.size(), 2u);
  names.push_back(uuid);
  EXPECT_EQ(listLogSegment(*logOf(names), kLog)->checkpoint->files.at(0).path, kLog + "/" + uuid);
}

TEST(LogSegmentListing, PassesOverEmptyAndBadCheckpoints) {
  const auto store = logOf({v(0, "json"), v(1, "json"), v(1, "checkpoint.parquet"), v(2, "json")});
  store->writeAtomically(kLog + "/" + v(2, "checkpoint.parquet"), "");
  EXPECT_EQ(listLogSegment(*store, kLog)->checkpoint->version, 1);
  const auto segment = listLogSegment(*store, kLog, std::nullopt, {kLog + "/" + v(1, "checkpoint.parquet")});
  EXPECT_FALSE(segment->checkpoint);
  EXPECT_EQ(segment->commits.size(), 3u);
}

// Lists as a directory may look while commits are added: one that is there does not show.
class HidingFileSystem : public FaultFileSystem {
 public:
  HidingFileSystem(std::shared_ptr<FileSystem> store, std::string hidden)
      : FaultFileSystem(std::move(store)), hidden_(std::move(hidden)) {}
  std::vector<FileInfo> listFrom(const std::string& directory, std::string_view firstName) override {
    std::vector<FileInfo> files = FaultFileSystem::listFrom(directory, firstName);
    std::erase_if(files, [&](const FileInfo& file) { return file.name() == hidden_; });
    return files;
  }

 private:
  std::string hidden_;
};

TEST(LogSegmentListing, ACommitThatTheListingLeftOutIsLookedUp) {
  HidingFileSystem store(logOf({v(0, "json"), v(1, "json"), v(2, "json"), v(3, "json")}), v(2, "json"));
  const auto segment = listLogSegment(store, kLog);
  EXPECT_EQ(segment->version, 3);
  ASSERT_EQ(segment->commits.size(), 4u);
  EXPECT_EQ(segment->commits[2].name(), v(2, "json"));
  EXPECT_EQ(listCommits(store, kLog, 2).size(), 2u);
  HidingFileSystem afterCheckpoint(logOf({v(1, "checkpoint.parquet"), v(2, "json"), v(3, "json")}),
                                   v(2, "json"));
  EXPECT_EQ(listLogSegment(afterCheckpoint, kLog)->commits.size(), 2u);
}

TEST(LogSegmentListing, AVersionThatTheListingDoesNotShowYetIsLookedUp) {
  HidingFileSystem store(logOf({v(0, "json"), v(1, "json"), v(2, "json")}), v(2, "json"));
  EXPECT_EQ(listLogSegment(store, kLog)->version, 1);
  const auto segment = listLogSegment(store, kLog, 2);
  EXPECT_EQ(segment->version, 2);
  EXPECT_EQ(segment->commits.size(), 3u);
  EXPECT_EQ(conditionOf([&] { listLogSegment(store, kLog, 3); }), "DELTA_VERSION_NOT_FOUND");
}

TEST(LogSegmentListing, NamesTheFaultOfABrokenLog) {
  EXPECT_EQ(conditionOf([] {
              listLogSegment(*logOf({v(0, "json"), v(2, "json")}), kLog);
            }),
            "DELTA_VERSIONS_NOT_CONTIGUOUS");
  EXPECT_EQ(conditionOf([] {
              listLogSegment(*logOf({v(1, "json"), v(2, "json")}), kLog);
            }),
            "DELTA_TRUNCATED_TRANSACTION_LOG");
  EXPECT_EQ(conditionOf([] {
              listLogSegment(*logOf({v(1, "checkpoint.parquet"), v(3, "json")}), kLog);
            }),
            "DELTA_VERSIONS_NOT_CONTIGUOUS");
  EXPECT_EQ(conditionOf([] { listLogSegment(*logOf({v(0, "json")}), kLog, 5); }), "DELTA_VERSION_NOT_FOUND");
}

TEST(LogSegmentListing, TheHintIsNeverTrusted) {
  for (const std::string hint :
       {"", "{", "{\"version\":1}", "{\"version\":9,\"size\":1}", "{\"version\":-4}", "[]",
        "{\"version\":2,\"size\":3}", "{\"version\":2,\"size\":3,\"checksum\":\"00\"}"}) {
    const auto store =
        logOf({v(0, "json"), v(1, "json"), v(2, "json"), v(2, "checkpoint.parquet"), v(3, "json")});
    store->writeAtomically(kLog + "/_last_checkpoint", hint);
    EXPECT_EQ(listLogSegment(*store, kLog)->version, 3) << hint;
    EXPECT_EQ(listLogSegment(*store, kLog)->checkpoint->version, 2) << hint;
    EXPECT_EQ(listLogSegment(*store, kLog, 1)->version, 1) << hint;
  }
}

TEST(LogSegmentListing, EarliestRecreatableVersion) {
  EXPECT_EQ(earliestRecreatableVersion(*logOf({v(0, "json"), v(1, "json")}), kLog), 0);
  EXPECT_EQ(earliestRecreatableVersion(
                *logOf({v(3, "json"), v(4, "checkpoint.parquet"), v(4, "json"), v(5, "json")}), kLog),
            4);
  EXPECT_FALSE(earliestRecreatableVersion(*logOf({v(3, "json")}), kLog));
}

TEST(CheckpointHintFile, ChecksumIsTheProtocolsVector) {
  EXPECT_EQ(
      checkpointHintChecksum(
          R"({"k0":"'v 0'","checksum":"adsaskfljadfkjadfkj","k1":{"k2":2,"k3":["v3",[1,2],{"k4":"v4","k5":["v5","v6","v7"]}]}})"),
      "6a92d155a59bf2eecbd4b4ec7fd1f875");
}

TEST(CheckpointHintFile, SparksOwnChecksumsHold) {
  const fs::path shared(THALWEG_SHARED_DIR);
  if (!fs::exists(shared / "testdata")) GTEST_SKIP() << "no shared test data";
  size_t withChecksum = 0;
  for (const auto& file : fs::recursive_directory_iterator(shared / "testdata")) {
    if (file.path().filename() != "_last_checkpoint") continue;
    std::stringstream text;
    text << std::ifstream(file.path()).rdbuf();
    EXPECT_TRUE(parseCheckpointHint(text.str())) << file.path();
    if (text.str().find("\"checksum\"") != std::string::npos) ++withChecksum;
  }
  EXPECT_GT(withChecksum, 3u);
}

TEST(CheckpointHintFile, RoundTrips) {
  const std::string json = toCheckpointHintJson({12, 30, std::nullopt, 4096, 27});
  EXPECT_TRUE(
      json.starts_with(R"({"version":12,"size":30,"sizeInBytes":4096,"numOfAddFiles":27,"checksum":")"))
      << json;
  const auto hint = parseCheckpointHint(json);
  EXPECT_EQ(hint->version, 12);
  EXPECT_EQ(hint->numOfAddFiles, 27);
  std::string torn = json;
  torn.replace(torn.find("30"), 2, "31");
  EXPECT_FALSE(parseCheckpointHint(torn));
}

TEST(VersionChecksumFile, RoundTrips) {
  VersionChecksum checksum;
  checksum.txnId = "t";
  checksum.tableSizeBytes = 3394;
  checksum.numFiles = 2;
  checksum.setTransactions = std::vector<SetTransaction>{{"app", 2, 5}};
  checksum.domainMetadata = std::vector<DomainMetadata>{};
  checksum.metadata.id = "m";
  checksum.protocol.minWriterVersion = 7;
  checksum.protocol.writerFeatures = std::vector<std::string>{"appendOnly"};
  const auto read = parseChecksum(toChecksumJson(checksum));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->txnId, "t");
  EXPECT_EQ(read->tableSizeBytes, 3394);
  EXPECT_EQ(read->numFiles, 2);
  EXPECT_EQ(read->setTransactions->at(0).appId, "app");
  EXPECT_EQ(read->metadata.id, "m");
  EXPECT_EQ(read->protocol, checksum.protocol);
}

TEST(VersionChecksumFile, DamagedIsAbsent) {
  const auto store = makeMemoryFileSystem();
  EXPECT_FALSE(readChecksum(*store, kLog, 0));
  for (const char* text : {"", "{", "{}", "{\"tableSizeBytes\":1,\"numFiles\":1}", "[1]"}) {
    store->writeAtomically(kLog + "/" + checksumFileName(0), text);
    EXPECT_FALSE(readChecksum(*store, kLog, 0)) << text;
  }
}

}  // namespace
}  // namespace thalweg::delta
