// Streams over Delta tables: offsets, limits, what they refuse.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sources/delta/commit_feed.h"
#include "sources/delta/delta_source_offset.h"
#include "sources/delta/delta_stream_options.h"
#include "sources/delta/delta_test_support.h"

namespace thalweg {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string at(int64_t version, int64_t index, bool initial = false) {
  return DeltaSourceOffset{"table-id", version, index, initial}.toJson();
}

// A query of Spark's that took a file a batch, and its table, which grew between the runs
// (tests/e2e/record_delta_source.py).
const fs::path kCopied = fs::path(THALWEG_TEST_DATA_DIR) / "delta/copied";

// The last line of each batch's offsets.
std::vector<std::string> loggedOffsets(const fs::path& checkpoint) {
  std::vector<std::string> lines;
  while (fs::exists(checkpoint / "offsets" / std::to_string(lines.size()))) {
    std::ifstream stream(checkpoint / "offsets" / std::to_string(lines.size()));
    std::string line;
    for (std::string next; std::getline(stream, next);) line = next;
    lines.push_back(line);
  }
  return lines;
}

TEST(DeltaSourceOffsets, AreDeltasBytes) {
  for (const char* recorded : {"copied", "evolution"}) {
    const auto lines = loggedOffsets(kCopied.parent_path() / recorded / "checkpoint");
    EXPECT_GE(lines.size(), 3u);
    for (const std::string& line : lines) EXPECT_EQ(DeltaSourceOffset::parse(line).toJson(), line);
  }
}

TEST(DeltaSourceOffsets, OtherTextsAreRefused) {
  const auto condition = [](std::string_view text) {
    return conditionOf([&] { DeltaSourceOffset::parse(text); });
  };
  EXPECT_EQ(condition("x"), "DELTA_INVALID_SOURCE_OFFSET_FORMAT");
  EXPECT_EQ(condition(R"({"logOffset":3})"), "DELTA_INVALID_SOURCE_OFFSET_FORMAT");
  const auto with = [](const std::string& form, const std::string& index) {
    return R"({"sourceVersion":)" + form + R"(,"reservoirId":"i","reservoirVersion":1,"index":)" + index +
           R"(,"isStartingVersion":false})";
  };
  EXPECT_EQ(condition(with("1", "-1")), "");
  EXPECT_EQ(condition(with("1", "\"a\"")), "DELTA_INVALID_SOURCE_OFFSET_FORMAT");
  EXPECT_EQ(condition(with("2", "0")), "DELTA_INVALID_SOURCE_VERSION");
  EXPECT_EQ(condition(with("4", "0")), "DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION");
  EXPECT_EQ(condition(with("3", "-20")), "") << "at a change of schema that a schema log follows";
  EXPECT_EQ(condition(with("3", "-19")), "");
  EXPECT_EQ(condition(with("3", "-18")), "DELTA_INVALID_SOURCE_OFFSET_FORMAT");
  EXPECT_EQ(condition(with("1", "-2")), "DELTA_INVALID_SOURCE_OFFSET_FORMAT");
  EXPECT_EQ(condition(with("1", "18446744073709551615")), "DELTA_INVALID_SOURCE_OFFSET_FORMAT");
}

// Each offset must come out as it did.
TEST(DeltaStream, PlansTheBatchesThatSparkPlanned) {
  const json recorded = json::parse(std::ifstream(kCopied / "run.json"));
  const fs::path copy = fs::temp_directory_path() / ("thalweg-delta-stream-" + std::to_string(::getpid()));
  fs::create_directories(copy / "_delta_log");
  for (const auto& entry : fs::directory_iterator(kCopied / "table")) {
    if (entry.path().extension() == ".parquet") fs::copy(entry.path(), copy / entry.path().filename());
  }
  const auto log = std::make_shared<delta::DeltaLog>(Location{makeLocalFileSystem(), copy.string()});
  std::vector<std::string> ends;
  std::vector<size_t> rows;
  std::optional<SourceOffset> last;
  int64_t version = 0;
  for (const int64_t newest : recorded["versions"]) {
    for (; version <= newest; ++version) {
      const std::string name = "_delta_log/" + delta::commitFileName(version);
      fs::copy(kCopied / "table" / name, copy / name);
    }
    SourceRun run(log, Options{{"maxFilesPerTrigger", "1"}}, {makeMemoryFileSystem(), "/checkpoint"});
    if (last) run.goOnFrom(*last);
    run.source().prepareForAvailableNow();
    while ((last = run.next())) {
      ends.push_back(*last);
      RowTexts texts;
      readSplits(run.splits(), 2, &texts);
      rows.push_back(texts.size());
    }
    last = ends.back();
  }
  fs::remove_all(copy);
  EXPECT_EQ(ends, loggedOffsets(kCopied / "checkpoint"));
  EXPECT_EQ(rows, recorded["rows"].get<std::vector<size_t>>());
}

TEST(DeltaStream, TheRowsThatAreThereComeByTimeAndPathThenCommits) {
  TestTable table;
  table.commit({TestTable::add("c", 5), TestTable::add("a", 9), TestTable::add("b", 5)});
  table.commit({TestTable::remove("c"), TestTable::add("d", 1)});
  SourceRun run = table.run(Options{{"maxFilesPerTrigger", "1"}});
  EXPECT_EQ(run.next(), at(2, 0, true)) << "d";
  EXPECT_EQ(run.next(), at(2, 1, true)) << "b";
  table.commit({TestTable::add("e"), TestTable::add("f")});
  EXPECT_EQ(run.next(), at(3, -1)) << "a, the last of the snapshot";
  EXPECT_EQ(run.next(), at(3, 0));
  EXPECT_EQ(run.next(), at(4, -1));
  EXPECT_EQ(run.next(), std::nullopt);
}

TEST(DeltaStream, ABatchSpansTheSnapshotAndCommits) {
  TestTable table;
  table.commit({TestTable::add("a"), TestTable::add("b")});
  SourceRun run = table.run(Options{{"maxFilesPerTrigger", "3"}});
  run.source().initialOffset();
  table.commit({TestTable::add("c"), TestTable::add("d")});
  EXPECT_EQ(run.next(), at(2, 0));
}

TEST(DeltaStream, AnEmptyTableMakesOneEmptyBatch) {
  TestTable table;
  SourceRun run = table.run();
  EXPECT_EQ(run.next(), at(1, -1));
  EXPECT_TRUE(run.splits().empty());
  EXPECT_EQ(run.next(), std::nullopt);
}

TEST(DeltaStream, BytesAreASoftLimit) {
  TestTable table;
  table.commit({TestTable::add("a"), TestTable::add("b"), TestTable::add("c")});
  SourceRun run = table.run(Options{{"maxBytesPerTrigger", "150b"}, {"startingVersion", "1"}});
  EXPECT_EQ(run.next(), at(1, 1)) << "the file that passes the limit still comes in";
  EXPECT_EQ(run.next(), at(2, -1));
}

TEST(DeltaStream, InEventTimeOrderTheRowsThatAreThereAreOneBatch) {
  TestTable table;
  table.commit({TestTable::add("a"), TestTable::add("b"), TestTable::add("c")});
  SourceRun run = table.run(Options{{"withEventTimeOrder", "true"}, {"maxFilesPerTrigger", "1"}});
  EXPECT_EQ(run.next(), at(2, -1));
  table.commit({TestTable::add("d"), TestTable::add("e")});
  EXPECT_EQ(run.next(), at(2, 0)) << "commits are limited as ever";
}

TEST(DeltaStream, OnlyChangedDataCounts) {
  TestTable table;
  table.commit({TestTable::add("a")});
  SourceRun run = table.run();
  run.drain();
  table.commit({TestTable::remove("a", false), TestTable::add("b", 0, false)});
  EXPECT_EQ(run.next(), at(3, -1));
  EXPECT_TRUE(run.splits().empty()) << "files put together hold no new rows";
}

TEST(DeltaStream, StartsWhereTheOptionsSay) {
  TestTable table;
  table.commit({TestTable::add("a")});
  EXPECT_EQ(table.run(Options{{"startingVersion", "1"}}).source().initialOffset(), at(1, -1));
  EXPECT_EQ(table.run(Options{{"startingVersion", "latest"}}).source().initialOffset(), at(2, -1));
  EXPECT_EQ(table.run(Options{{"startingVersion", "2"}}).source().initialOffset(), at(2, -1))
      << "the next one is waited for";
  EXPECT_EQ(conditionOf([&] {
              table.run(Options{{"startingVersion", "3"}}).next();
            }),
            "DELTA_VERSION_NOT_FOUND");
  EXPECT_EQ(conditionOf([&] {
              table.run(Options{{"startingTimestamp", "2999-01-01"}}).next();
            }),
            "DELTA_TIMESTAMP_GREATER_THAN_COMMIT");
  EXPECT_EQ(conditionOf([&] {
              table.run(Options{{"startingTimestamp", "soon"}}).next();
            }),
            "DELTA_TIMESTAMP_INVALID");
}

// Killed between the choice of where to begin and the first offset of the query, it begins at the same place.
TEST(DeltaStream, ARestartBeforeTheFirstBatchBeginsAtTheSamePlace) {
  TestTable table;
  const Options options{{"startingVersion", "latest"}};
  {
    SourceRun run = table.run(options);
    EXPECT_EQ(run.next(), std::nullopt);
  }
  table.commit({TestTable::add("a")});
  table.commit({TestTable::add("b")});
  SourceRun run = table.run(options);
  EXPECT_EQ(run.source().initialOffset(), at(1, -1));
  EXPECT_EQ(run.next(), at(3, -1));
}

// Spark keeps only a first batch's end: its beginning is the snapshot of that version, or of the one before.
TEST(DeltaStream, AFirstBatchThatSparkPlannedIsReadAgain) {
  TestTable table;
  table.commit({TestTable::add("a"), TestTable::add("b")});
  table.commit({TestTable::add("c")});
  const auto filesOf = [&](const std::string& end) {
    SourceRun run = table.run();
    return run.source().plan(run.source().initialOffset(), end).size();
  };
  EXPECT_EQ(filesOf(at(1, 0, true)), 1u);
  EXPECT_EQ(filesOf(at(2, -1)), 2u);
  SourceRun latest = table.run(Options{{"startingVersion", "latest"}});
  EXPECT_EQ(conditionOf([&] { latest.source().plan(latest.source().initialOffset(), at(2, -1)); }),
            "STREAMING_CHECKPOINT_LOG_CORRUPT");
}

TEST(DeltaStream, AvailableNowEndsWithWhatWasThere) {
  TestTable table;
  table.commit({TestTable::add("a")});
  SourceRun run = table.run(Options{{"maxFilesPerTrigger", "1"}, {"startingVersion", "0"}});
  ASSERT_TRUE(run.source().prepareForAvailableNow());
  EXPECT_EQ(run.next(), at(2, -1));
  table.commit({TestTable::add("b")});
  EXPECT_EQ(run.next(), std::nullopt);
}

TEST(DeltaStream, RemovedRowsEndItUnlessTheOptionsSayOtherwise) {
  const auto after = [](const std::vector<std::string>& commit, const Options& options) {
    TestTable table;
    table.commit({TestTable::add("a"), TestTable::add("b")});
    SourceRun run = table.run(options);
    run.drain();
    table.commit(commit);
    std::string files;
    const std::string condition = conditionOf(
        [&] { files = run.next().value_or("") == at(3, -1) ? std::to_string(run.splits().size()) : ""; });
    return condition + files;
  };
  const std::vector<std::string> deletes = {TestTable::remove("a")};
  const std::vector<std::string> updates = {TestTable::remove("a"), TestTable::add("c")};
  EXPECT_EQ(after(deletes, {}), "DELTA_SOURCE_IGNORE_DELETE");
  EXPECT_EQ(after(updates, {}), "DELTA_SOURCE_TABLE_IGNORE_CHANGES");
  EXPECT_EQ(after(deletes, Options{{"ignoreDeletes", "true"}}), "0");
  EXPECT_EQ(after(updates, Options{{"ignoreDeletes", "true"}}), "DELTA_SOURCE_TABLE_IGNORE_CHANGES");
  EXPECT_EQ(after(updates, Options{{"ignoreChanges", "true"}}), "1") << "the rewritten file comes again";
  EXPECT_EQ(after(updates, Options{{"skipChangeCommits", "true"}}), "0");
}

TEST(DeltaStream, AddedColumnsEndItOnceAndARestartReadsOn) {
  TestTable table;
  table.commit({TestTable::add("a")});
  std::string last;
  {
    SourceRun run = table.run();
    last = run.drain().back();
    table.commit({TestTable::metadata(kWiderSchema), TestTable::add("b")});
    EXPECT_EQ(conditionOf([&] { run.next(); }), "DELTA_SCHEMA_CHANGED_WITH_VERSION");
  }
  SourceRun again = table.run();
  again.goOnFrom(last);
  EXPECT_EQ(again.next(), at(3, -1));
  EXPECT_EQ(again.source().schema()->simpleString(), "struct<id:bigint,x:string>");
}

// As Delta 4.4 does it: a wider type ends a query once, and rows of the narrower one are read under it.
TEST(DeltaStream, AWiderTypeEndsItOnceAndARestartReadsOn) {
  const auto schemaOf = [](const std::string& type) {
    return R"({"type":"struct","fields":[{"name":"id","type":")" + type +
           R"(","nullable":true,"metadata":{}}]})";
  };
  const auto after = [&](const std::string& from, const std::string& to) {
    TestTable table(
        {R"({"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["typeWidening"],"writerFeatures":["typeWidening"]}})",
         TestTable::metadata(schemaOf(from))});
    table.commit({TestTable::add("a")});
    SourceRun run = table.run();
    const std::string last = run.drain().back();
    table.commit({TestTable::add("b")});
    table.commit({TestTable::metadata(schemaOf(to))});
    table.commit({TestTable::add("c")});
    EXPECT_EQ(conditionOf([&] { run.next(); }), "DELTA_SCHEMA_CHANGED_WITH_VERSION");
    SourceRun again = table.run();
    again.goOnFrom(last);
    return conditionOf([&] { EXPECT_EQ(again.next(), at(5, -1)); });
  };
  EXPECT_EQ(after("integer", "long"), "");
  EXPECT_EQ(after("long", "integer"), "DELTA_SCHEMA_CHANGED_WITH_VERSION") << "every time";
}

// Of a table whose columns are mapped. The rename may be the very commit that a restart goes on with.
TEST(DeltaStream, RenamedColumnsEndItAndEveryRestart) {
  const auto schemaOf = [](const std::string& name) {
    return R"({"type":"struct","fields":[{"name":")" + name +
           R"(","type":"long","nullable":true,"metadata":{"delta.columnMapping.id":1,"delta.columnMapping.physicalName":"c1"}}]})";
  };
  const json mapped = {{"delta.columnMapping.mode", "name"}, {"delta.columnMapping.maxColumnId", "1"}};
  TestTable table;
  table.commit({R"({"protocol":{"minReaderVersion":2,"minWriterVersion":5}})",
                TestTable::metadata(schemaOf("v"), "table-id", mapped)});
  table.commit({TestTable::add("a")});
  SourceRun run = table.run();
  const std::string last = run.drain().back();
  table.commit({TestTable::metadata(schemaOf("w"), "table-id", mapped)});
  table.commit({TestTable::add("b")});
  const auto* condition = "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG";
  EXPECT_EQ(conditionOf([&] { run.next(); }), condition);
  for (int restart = 0; restart < 2; ++restart) {
    SourceRun again = table.run();
    again.goOnFrom(last);
    EXPECT_EQ(conditionOf([&] { again.next(); }), condition) << restart;
  }
  SourceRun anew = SourceRun(table.log(), Options(), table.checkpoint().child("another"));
  EXPECT_TRUE(anew.next()) << "a new checkpoint reads all rows under the new name";
}

TEST(DeltaStream, AnotherTableAtThePathEndsIt) {
  TestTable table;
  table.commit({TestTable::add("a")});
  SourceRun run = table.run();
  const std::string last = run.drain().back();
  // Replaced: the log goes on under another id.
  table.commit({TestTable::metadata(kSchema, "other-id"), TestTable::add("b")});
  EXPECT_EQ(conditionOf([&] { run.next(); }), "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE");
  SourceRun restarted = table.run();
  restarted.goOnFrom(last);
  EXPECT_EQ(conditionOf([&] { restarted.next(); }), "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE");
}

TEST(DeltaStream, ATableThatIsDroppedAndMadeAnewEndsIt) {
  TestTable table;
  table.commit({TestTable::add("a")});
  SourceRun run = table.run();
  run.drain();
  table.dropAndStartAnew();
  EXPECT_EQ(conditionOf([&] { run.next(); }), "DELTA_TABLE_NOT_FOUND");
  table.commit({TestTable::protocol(), TestTable::metadata(kSchema, "other-id")});
  EXPECT_EQ(conditionOf([&] { run.next(); }), "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE");
}

TEST(DeltaStream, CommitsThatAreGoneEndItOrArePassedOver) {
  const auto lost = [&](const Options& options) {
    TestTable table;
    table.commit({TestTable::add("a")});
    const std::string last = table.run().drain().back();
    table.commit({TestTable::add("b")});
    table.commit({TestTable::add("c")});
    SourceRun run = table.run(options);
    table.removeCommit(2);
    run.goOnFrom(last);
    return run.next().value_or("nothing");
  };
  EXPECT_EQ(conditionOf([&] { lost({}); }), "DELTA_MISSING_FILES_UNEXPECTED_VERSION");
  EXPECT_EQ(lost(Options{{"failOnDataLoss", "false"}}), at(4, -1));
}

// What _commit_timestamp shows.
TEST(CommitFeedTest, TimesAreTheCommitsOwnElseThoseOfFilesMadeToRise) {
  TestTable table;
  table.commit({R"({"commitInfo":{"inCommitTimestamp":1234}})", TestTable::add("a")});
  for (int i = 0; i < 3; ++i) table.commit({TestTable::add("b")});
  const auto log = table.log();
  const auto times = delta::readFileTimes(*log->table().fileSystem, log->logPath(), 0, 4);
  ASSERT_EQ(times.size(), 5u);
  CommitFeed inOrder(log, "table-id", true);
  EXPECT_EQ(inOrder.timestampMs(*inOrder.at(1)), 1234);
  for (int64_t version = 2; version < 5; ++version) {
    EXPECT_EQ(inOrder.timestampMs(*inOrder.at(version)), times[static_cast<size_t>(version)].timestampMs);
    CommitFeed anew(log, "table-id", true);
    EXPECT_EQ(anew.timestampMs(*anew.at(version)), times[static_cast<size_t>(version)].timestampMs)
        << "whoever begins there";
  }
}

TEST(DeltaStream, PatternsLeaveFilesOut) {
  TestTable table;
  table.commit({TestTable::add("keep-1"), TestTable::add("drop-1")});
  SourceRun run = table.run(Options{{"excludeRegex", "^drop-[0-9]"}, {"maxFilesPerTrigger", "1"}});
  EXPECT_EQ(run.next(), at(1, 0, true)) << "files that are left out count all the same";
  EXPECT_TRUE(run.splits().empty());
  EXPECT_EQ(run.next(), at(2, -1));
  EXPECT_EQ(run.splits().size(), 1u);
}

// In the feed a commit's change files come together, and the offset stays at the last of them.
TEST(DeltaStream, ChangeFilesAreNotParted) {
  TestTable table;
  const json on = {{"delta.enableChangeDataFeed", "true"}};
  table.commit({TestTable::metadata(kSchema, "table-id", on), TestTable::add("a"), TestTable::add("b")});
  table.commit({TestTable::change("x"), TestTable::change("y"), TestTable::remove("a"), TestTable::add("c")});
  table.commit({TestTable::add("d")});
  SourceRun run =
      table.run(Options{{"readChangeFeed", "true"}, {"startingVersion", "1"}, {"maxFilesPerTrigger", "1"}});
  EXPECT_EQ(run.next(), at(1, 0));
  EXPECT_EQ(run.next(), at(2, -1));
  EXPECT_EQ(run.next(), at(2, 1)) << "both change files in one batch";
  EXPECT_EQ(run.next(), at(4, -1));
  SourceRun atOnce = table.run(Options{{"readChangeFeed", "true"}, {"startingVersion", "1"}});
  EXPECT_EQ(atOnce.source().latestOffset(at(1, -1), /*ignoreLimits=*/true), at(4, -1));
  EXPECT_EQ(conditionOf([&] {
              table.run(Options{{"readChangeFeed", "true"}, {"startingVersion", "0"}}).next();
            }),
            "")
      << "the start that the checkpoint has counts";
}

TEST(DeltaStream, AFeedThatWasNotKeptIsNotRead) {
  TestTable table;
  table.commit({TestTable::add("a")});
  EXPECT_EQ(conditionOf([&] {
              table.run(Options{{"readChangeFeed", "true"}}).next();
            }),
            "DELTA_MISSING_CHANGE_DATA");
}

TEST(DeltaStreamOptions, AreCheckedByName) {
  const auto condition = [](const char* name, const char* value) {
    return conditionOf([&] { DeltaStreamOptions::parse(Options{{name, value}}); });
  };
  EXPECT_EQ(condition("startingVersion", "x"), "DELTA_ILLEGAL_OPTION");
  EXPECT_EQ(condition("startingVersion", "-1"), "DELTA_ILLEGAL_OPTION");
  EXPECT_EQ(condition("maxFilesPerTrigger", "0"), "DELTA_ILLEGAL_OPTION");
  EXPECT_EQ(condition("maxBytesPerTrigger", "x"), "DELTA_ILLEGAL_OPTION");
  EXPECT_EQ(condition("ignoreChanges", "what"), "DELTA_ILLEGAL_OPTION");
  EXPECT_EQ(condition("excludeRegex", "("), "DELTA_REGEX_OPT_SYNTAX_ERROR");
  EXPECT_EQ(
      conditionOf([] {
        DeltaStreamOptions::parse(Options{{"startingVersion", "1"}, {"startingTimestamp", "2026-01-01"}});
      }),
      "DELTA_STARTING_VERSION_AND_TIMESTAMP_BOTH_SET");
  EXPECT_EQ(parseByteSize("10g"), int64_t{10} << 30);
  EXPECT_EQ(parseByteSize(" 5 MB"), int64_t{5} << 20);
  EXPECT_EQ(parseByteSize("9223372036854775807k"), std::nullopt);
}

}  // namespace
}  // namespace thalweg
