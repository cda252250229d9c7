#include "sources/files/source_log.h"

#include <fstream>

#include "common/fault_points.h"
#include "sources/files/files_test_support.h"
#include "storage/fault_file_system.h"

namespace thalweg {
namespace {

class LateClock final : public Clock {
 public:
  int64_t nowMicros() const override { return systemClock().nowMicros() + aheadMs * 1000; }
  std::chrono::steady_clock::time_point monotonic() const override { return {}; }
  int64_t aheadMs = 0;
};

class SourceLogTest : public testing::Test {
 protected:
  SourceLog open() { return SourceLog({files_, "/c/sources/0"}, clock_); }
  static SourceLogEntry entry(int64_t batch) {
    return {"file:///in/f" + std::to_string(batch), 1000 + batch, batch};
  }
  void addUpTo(SourceLog& log, int64_t last) {
    while (log.latest() < last) log.add({entry(log.latest() + 1)});
  }
  std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const FileInfo& file : files_->list("/c/sources/0")) names.emplace_back(file.name());
    return names;
  }
  std::shared_ptr<FaultFileSystem> files_ = std::make_shared<FaultFileSystem>(makeMemoryFileSystem());
  LateClock clock_;
};

// The fixture was written by Spark 4.2.
TEST(SourceLogBytes, AreSparks) {
  const std::string folder =
      std::string(THALWEG_SHARED_DIR) + "/testdata/spark-checkpoints/files-to-delta/checkpoint/sources/0";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is absent";
  const auto spark = makeLocalFileSystem();
  const auto ours = makeMemoryFileSystem();
  SourceLog log({ours, "/log"}, systemClock());
  const SourceLog theirs({spark, folder}, systemClock());
  ASSERT_EQ(theirs.latest(), 14);
  for (int64_t batch = 0; batch <= 14; ++batch) {
    log.add(theirs.read(batch, batch));
    const std::string name = "/" + std::to_string(batch) + (batch == 9 ? ".compact" : "");
    EXPECT_EQ(ours->readAll("/log" + name), spark->readAll(folder + name)) << name;
  }
  int restored = 0;
  theirs.restore([&](const SourceLogEntry& entry) { EXPECT_EQ(entry.batchId, restored++); });
  EXPECT_EQ(restored, 15);
}

TEST_F(SourceLogTest, EveryTenthEntryHoldsAllBeforeIt) {
  SourceLog log = open();
  addUpTo(log, 21);
  EXPECT_EQ(parseSourceLog(files_->readAll("/c/sources/0/9.compact"), "").size(), 10U);
  const auto entries = parseSourceLog(files_->readAll("/c/sources/0/19.compact"), "");
  ASSERT_EQ(entries.size(), 20U);
  for (int64_t i = 0; i < 20; ++i) EXPECT_EQ(entries[static_cast<size_t>(i)], entry(i));
  EXPECT_EQ(open().latest(), 21);
  EXPECT_EQ(open().read(8, 10), (std::vector{entry(8), entry(9), entry(10)}));
}

TEST_F(SourceLogTest, OldFilesGoAfterTheDelayAndTheCompactionAnswersForThem) {
  SourceLog log = open();
  addUpTo(log, 109);
  EXPECT_EQ(names().size(), 110U);
  clock_.aheadMs = 11 * 60 * 1000;
  addUpTo(log, 119);
  // 100 batches are kept: those below the compaction 19 went.
  EXPECT_EQ(names().size(), 101U);
  EXPECT_EQ(open().read(3, 4), (std::vector{entry(3), entry(4)}));
  int restored = 0;
  open().restore([&](const SourceLogEntry&) { ++restored; });
  EXPECT_EQ(restored, 120);
}

TEST_F(SourceLogTest, OfTwoRunsOnlyOneWrites) {
  SourceLog first = open();
  SourceLog second = open();
  first.add({entry(0)});
  EXPECT_EQ(conditionOf([&] { second.add({{"file:///in/other", 1, 0}}); }), "CONCURRENT_STREAM_LOG_UPDATE");
  EXPECT_EQ(open().read(0, 0), std::vector{entry(0)});
}

TEST_F(SourceLogTest, ALostAnswerIsReadBack) {
  SourceLog log = open();
  files_->inject({FileOperation::PutIfAbsent, 1, EIO, 1, true});
  log.add({entry(0)});
  EXPECT_EQ(open().read(0, 0), std::vector{entry(0)});
}

TEST_F(SourceLogTest, FaultPointsLieAroundTheWrite) {
  SourceLog log = open();
  armFaultPoint("sourceLog.before=error");
  EXPECT_EQ(conditionOf([&] { log.add({entry(0)}); }), "FAULT_INJECTED");
  EXPECT_EQ(open().latest(), -1);
  armFaultPoint("sourceLog.after=error");
  EXPECT_EQ(conditionOf([&] { log.add({entry(0)}); }), "FAULT_INJECTED");
  armFaultPoint("");
  EXPECT_EQ(open().latest(), 0);
}

TEST_F(SourceLogTest, AnotherCompactIntervalIsKept) {
  // A log of Spark with spark.sql.streaming.fileSource.log.compactInterval = 3.
  files_->writeAtomically("/c/sources/0/2.compact", formatSourceLog({entry(0), entry(1), entry(2)}));
  files_->writeAtomically("/c/sources/0/3", formatSourceLog({entry(3)}));
  SourceLog log = open();
  addUpTo(log, 5);
  EXPECT_EQ(names(), (std::vector<std::string>{"2.compact", "3", "4", "5.compact"}));
  EXPECT_EQ(open().read(5, 5), std::vector{entry(5)});
}

TEST_F(SourceLogTest, WhatIsNoLogIsAnError) {
  for (const char* text :
       {"", "v2\n{}", "v1\nx", "v1\n{}", "v1\n{\"path\":1,\"timestamp\":2}", "v1\n{\"path\":\"a\"}",
        "v1\n{\"path\":\"a\",\"timestamp\":18446744073709551615}"}) {
    EXPECT_EQ(conditionOf([&] { parseSourceLog(text, "log"); }), "STREAMING_CHECKPOINT_LOG_CORRUPT") << text;
  }
  files_->writeAtomically("/c/sources/0/1", formatSourceLog({entry(1)}));
  EXPECT_EQ(conditionOf([&] { open().restore([](const SourceLogEntry&) {}); }),
            "STREAMING_CHECKPOINT_LOG_CORRUPT");
  EXPECT_EQ(conditionOf([&] { open().read(0, 1); }), "STREAMING_CHECKPOINT_LOG_CORRUPT");
}

TEST(SourceLogText, NewlinesAtTheEndAndUnknownKeysPass) {
  const auto entries = parseSourceLog("v1\n{\"path\":\"p\",\"timestamp\":5,\"batchId\":2,\"x\":[]}\n", "log");
  EXPECT_EQ(entries, (std::vector<SourceLogEntry>{{"p", 5, 2}}));
}

}  // namespace
}  // namespace thalweg
