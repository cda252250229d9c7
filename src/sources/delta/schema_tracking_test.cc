// Streams over Delta tables whose schema changes, with a schema log. The steps, their offsets and the log's
// entries are those that Spark 4.2 with Delta 4.4 was seen to take (tests/e2e/delta_source_engines_test.py
// runs both side by side).
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/fault_points.h"
#include "sources/delta/delta_source_offset.h"
#include "sources/delta/delta_test_support.h"
#include "sources/delta/schema_change_permission.h"
#include "sources/delta/schema_log_entry.h"

namespace thalweg {
namespace {

using nlohmann::json;

constexpr const char* kEvolved = "DELTA_STREAMING_METADATA_EVOLUTION";
constexpr const char* kBlocked = "DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION";
const Options kTracked{{"schemaTrackingLocation", "/checkpoint/schemas"}};
const Options kAllowed{{"schemaTrackingLocation", "/checkpoint/schemas"},
                       {"allowSourceColumnRename", "always"},
                       {"allowSourceColumnDrop", "always"},
                       {"allowSourceColumnTypeChange", "always"}};

// A column as (name, where it is stored, type).
struct MappedColumn {
  std::string name, stored, type = "long";
};

std::string schemaOf(const std::vector<MappedColumn>& columns) {
  json fields = json::array();
  int id = 0;
  for (const MappedColumn& column : columns) {
    fields.push_back(
        {{"name", column.name},
         {"type", column.type},
         {"nullable", true},
         {"metadata",
          {{"delta.columnMapping.id", ++id}, {"delta.columnMapping.physicalName", column.stored}}}});
  }
  return json{{"type", "struct"}, {"fields", fields}}.dump();
}

std::string mapped(const std::vector<MappedColumn>& columns, json properties = json::object()) {
  properties["delta.columnMapping.mode"] = "name";
  return TestTable::metadata(schemaOf(columns), "table-id", properties);
}

// Version 0 makes the table, 1 adds the file "a".
TestTable mappedTable(const json& properties = json::object()) {
  TestTable table(
      {R"({"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["columnMapping","typeWidening"],"writerFeatures":["columnMapping","typeWidening","changeDataFeed"]}})",
       mapped({{"id", "c1"}, {"v", "c2"}}, properties)});
  table.commit({TestTable::add("a")});
  return table;
}

std::string at(int64_t version, int64_t index, bool initial = false) {
  return DeltaSourceOffset{"table-id", version, index, initial}.toJson();
}

std::string entryPath(int64_t number) {
  return "/checkpoint/schemas/_schema_log_table-id/" + std::to_string(number);
}

std::optional<SchemaLogEntry> entry(const TestTable& table, int64_t number) {
  const Location checkpoint = table.checkpoint();
  if (!checkpoint.fileSystem->stat(entryPath(number))) return std::nullopt;
  return SchemaLogEntry::parse(checkpoint.fileSystem->readAll(entryPath(number)), "entry");
}

// The version of each entry of the log.
std::vector<int64_t> entryVersions(const TestTable& table) {
  std::vector<int64_t> versions;
  for (int64_t number = 0; const auto found = entry(table, number); ++number)
    versions.push_back(found->commitVersion);
  return versions;
}

std::string loaded(const std::shared_ptr<delta::DeltaLog>& log, const Location& checkpoint,
                   const Options& options) {
  ReadDefinition read;
  read.options = options;
  read.paths = {log->table().path};
  const auto resolve = [&](std::string_view path) {
    return Location{checkpoint.fileSystem, std::string(path)};
  };
  return deltaStreamSchema(*log, read, resolve).schema->simpleString();
}

std::string loaded(const TestTable& table, const Options& options = kTracked) {
  return loaded(table.log(), table.checkpoint(), options);
}

// What a query's runs do: each goes on from the offset that is logged, and repeats the batch that is not
// committed.
class Query {
 public:
  using Settings = std::map<std::string, std::string>;

  explicit Query(TestTable& table, Options options = kTracked)
      : log_([&table] { return table.log(); }),
        checkpoint_(table.checkpoint()),
        options_(std::move(options)) {}
  // One that another engine began: the offsets that it logged, the last one's batch not committed.
  Query(const Location& table, Location checkpoint, std::vector<SourceOffset> logged)
      : log_([table] { return std::make_shared<delta::DeltaLog>(table); }),
        checkpoint_(std::move(checkpoint)),
        logged_(std::move(logged)),
        numCommitted_(logged_.size() - 1),
        committed_(logged_[numCommitted_ - 1]) {}

  // One run until nothing is new: the condition it ends with.
  std::string run(const Settings& settings = {}) {
    return conditionOf([&] {
      loaded(log_(), checkpoint_, options_);
      SourceRun run(log_(), options_, checkpoint_, settings);
      StreamSource& source = run.source();
      const auto start = [&] { return committed_ ? committed_ : source.initialOffset(); };
      if (logged_.size() > numCommitted_) commit(source, source.plan(start(), logged_.back()));
      while (true) {
        const auto end = source.latestOffset(start(), false);
        if (!end || end == start()) return;
        logged_.push_back(*end);
        commit(source, source.plan(start(), *end));
      }
    });
  }
  void setOptions(Options options) { options_ = std::move(options); }
  const std::vector<SourceOffset>& logged() const { return logged_; }
  size_t numCommitted() const { return numCommitted_; }
  int numSplits() const { return static_cast<int>(splits_.size()); }
  const std::vector<SplitPtr>& splits() const { return splits_; }

 private:
  void commit(StreamSource& source, const std::vector<SplitPtr>& splits) {
    splits_.insert(splits_.end(), splits.begin(), splits.end());
    ++numCommitted_;
    committed_ = logged_.back();
    source.commit(*committed_);
  }

  std::function<std::shared_ptr<delta::DeltaLog>()> log_;
  Location checkpoint_;
  Options options_;
  std::vector<SourceOffset> logged_;
  size_t numCommitted_ = 0;
  std::optional<SourceOffset> committed_;
  std::vector<SplitPtr> splits_;
};

TEST(SchemaTracking, TheFirstBatchBeginsTheLog) {
  TestTable table = mappedTable();
  Query query(table);
  EXPECT_EQ(query.run(), "");
  EXPECT_EQ(query.logged(), (std::vector<SourceOffset>{at(2, -1)}));
  const auto first = entry(table, 0);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->tableId, "table-id");
  EXPECT_EQ(first->commitVersion, 1);
  EXPECT_EQ(json::parse(first->dataSchemaJson), json::parse(schemaOf({{"id", "c1"}, {"v", "c2"}})));
  EXPECT_EQ(first->partitionSchemaJson, R"({"type":"struct","fields":[]})");
  EXPECT_TRUE(first->sourceFolder.ends_with("/checkpoint/sources/0")) << first->sourceFolder;
  EXPECT_EQ(first->configuration, (std::map<std::string, std::string>{{"delta.columnMapping.mode", "name"}}));
  EXPECT_EQ(first->protocol->readerFeatures, (std::vector<std::string>{"columnMapping", "typeWidening"}));
  EXPECT_EQ(query.run(), "");
  EXPECT_EQ(entryVersions(table), (std::vector<int64_t>{1}));
}

// Rows before the change come under the old name; then two batches, the second empty, and the query ends
// once.
TEST(SchemaTracking, ARenameEndsTheQueryOnceAndWaitsForPermission) {
  TestTable table = mappedTable();
  Query query(table);
  query.run();
  table.commit({TestTable::add("b")});
  table.commit({mapped({{"id", "c1"}, {"w", "c2"}})});
  table.commit({TestTable::add("c")});
  EXPECT_EQ(query.run(), kEvolved);
  EXPECT_EQ(query.logged(), (std::vector<SourceOffset>{at(2, -1), at(3, -20), at(3, -19)}));
  EXPECT_EQ(
      at(3, -20),
      R"({"sourceVersion":3,"reservoirId":"table-id","reservoirVersion":3,"index":-20,"isStartingVersion":false})");
  EXPECT_EQ(query.numCommitted(), 2u);
  EXPECT_EQ(entryVersions(table), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(loaded(table), "struct<id:bigint,w:bigint>");
  EXPECT_EQ(query.run(), kBlocked);
  EXPECT_EQ(query.run(), kBlocked);
  query.setOptions(kAllowed);
  EXPECT_EQ(query.run(), "");
  EXPECT_EQ(query.logged().back(), at(5, -1));
  EXPECT_EQ(query.logged().size(), 4u);
  EXPECT_EQ(query.numSplits(), 3) << "a, b and c";
}

TEST(SchemaTracking, AnOptionOrASettingLetsAChangeThrough) {
  TestTable table = mappedTable();
  Query query(table);
  query.run();
  table.commit({mapped({{"id", "c1"}, {"w", "c2"}})});
  ASSERT_EQ(query.run(), kEvolved);
  const std::string source = entry(table, 0)->sourceFolder;
  const auto with = [&](const Options& options, const std::map<std::string, std::string>& settings) {
    Options all = options;
    all.set("schemaTrackingLocation", "/checkpoint/schemas");
    return conditionOf([&] { table.run(all, settings); });
  };
  const std::string prefix = "spark.databricks.delta.streaming.allowSourceColumn";
  const std::string checkpoint = ".ckpt_" + std::to_string(javaHash(source));
  EXPECT_EQ(with({}, {}), kBlocked);
  EXPECT_EQ(with(Options{{"allowSourceColumnRename", "2"}}, {}), "");
  EXPECT_EQ(with(Options{{"allowSourceColumnRename", "3"}}, {}), kBlocked) << "another version";
  EXPECT_EQ(with(Options{{"allowSourceColumnRename", "Always"}}, {}), kBlocked)
      << "options are case-sensitive, as in Delta";
  EXPECT_EQ(with(Options{{"allowSourceColumnDrop", "always"}}, {}), kBlocked) << "another kind";
  EXPECT_EQ(with({}, {{prefix + "Rename", "Always"}}), "");
  EXPECT_EQ(with({}, {{prefix + "RenameAndDrop", "always"}}), "");
  EXPECT_EQ(with({}, {{prefix + "Rename", "2"}}), kBlocked) << "a version is one checkpoint's";
  EXPECT_EQ(with({}, {{prefix + "Rename" + checkpoint, "2"}}), "");
  EXPECT_EQ(with({}, {{prefix + "Rename" + checkpoint, "always"}}), "");
  EXPECT_EQ(with({}, {{prefix + "Rename.ckpt_1", "2"}}), kBlocked);
}

// String.hashCode of Java, by its definition.
TEST(SchemaTracking, CheckpointsAreNamedByJavasHash) {
  EXPECT_EQ(javaHash(""), 0);
  EXPECT_EQ(javaHash("file:/c/sources/0"), 697442972);
  EXPECT_EQ(javaHash("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"),
            0xE4 * 29791 + 0x20AC * 961 + 0xD83D * 31 + 0xDE00);
}

TEST(SchemaTracking, DropsAndWiderTypesNeedPermissionAndNewColumnsDoNot) {
  const auto after = [](const std::string& change, const Options& options) {
    TestTable table = mappedTable();
    Query query(table);
    query.run();
    table.commit({change});
    EXPECT_EQ(query.run(), kEvolved);
    query.setOptions(options);
    return query.run();
  };
  const auto allow = [](const char* name) {
    return Options{{"schemaTrackingLocation", "/checkpoint/schemas"}, {name, "always"}};
  };
  const std::string drop = mapped({{"id", "c1"}});
  EXPECT_EQ(after(drop, kTracked), kBlocked);
  EXPECT_EQ(after(drop, allow("allowSourceColumnRename")), kBlocked);
  EXPECT_EQ(after(drop, allow("allowSourceColumnDrop")), "");
  EXPECT_EQ(after(mapped({{"id", "c1"}, {"v", "c2"}, {"x", "c3"}}), kTracked), "");
  const std::string wider = mapped({{"id", "c1"}, {"v", "c2", "decimal(20,0)"}});
  EXPECT_EQ(after(wider, kTracked), kBlocked);
  EXPECT_EQ(after(wider, allow("allowSourceColumnTypeChange")), "");
  EXPECT_EQ(after(mapped({{"id", "c1"}, {"v", "c2", "string"}}), kAllowed),
            "DELTA_SCHEMA_CHANGED_WITH_VERSION")
      << "no wider type";
  EXPECT_EQ(after(mapped({{"id", "c1"}, {"v", "c9", "string"}}), kAllowed), "")
      << "dropped, and another one added";
}

// Commits that change metadata alone, one after the other, end a query once: load() looks ahead.
TEST(SchemaTracking, ChangesOneAfterTheOtherAreOne) {
  TestTable table = mappedTable();
  Query query(table);
  query.run();
  table.commit({mapped({{"id", "c1"}, {"v", "c2"}, {"x", "c3"}})});
  table.commit({mapped({{"id", "c1"}, {"v", "c2"}, {"x", "c3"}, {"y", "c4"}})});
  table.commit({mapped({{"id", "c1"}, {"x", "c3"}, {"y", "c4"}})});
  table.commit({TestTable::add("b")});
  EXPECT_EQ(query.run(), kEvolved);
  EXPECT_EQ(loaded(table), "struct<id:bigint,x:bigint,y:bigint>");
  EXPECT_EQ(loaded(table), "struct<id:bigint,x:bigint,y:bigint>") << "once";
  EXPECT_EQ(entryVersions(table), (std::vector<int64_t>{1, 2, 4}));
  EXPECT_EQ(entry(table, 2)->previousEntry, 0) << "in the place of the one before";
  EXPECT_EQ(query.run(), kBlocked) << "the drop among them";
  query.setOptions(kAllowed);
  EXPECT_EQ(query.run(), "");
  EXPECT_EQ(query.logged(), (std::vector<SourceOffset>{at(2, -1), at(2, -20), at(2, -19), at(6, -1)}));
}

TEST(SchemaTracking, PropertiesAndProtocolsCountAndTheUsersOwnDoNot) {
  const auto after = [](const std::vector<std::string>& commit) {
    TestTable table = mappedTable();
    Query query(table);
    query.run();
    table.commit(commit);
    return query.run();
  };
  const std::vector<MappedColumn> columns = {{"id", "c1"}, {"v", "c2"}};
  EXPECT_EQ(after({mapped(columns)}), "");
  EXPECT_EQ(after({mapped(columns, {{"mine", "1"}})}), "");
  EXPECT_EQ(after({mapped(columns, {{"delta.appendOnly", "false"}})}), kEvolved);
  const auto protocol = [](const char* writers) {
    return R"({"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["typeWidening","columnMapping"],"writerFeatures":[)" +
           std::string(writers) + "]}}";
  };
  EXPECT_EQ(after({protocol(R"("typeWidening","changeDataFeed","columnMapping")")}), "")
      << "in another order";
  EXPECT_EQ(after({protocol(R"("typeWidening","columnMapping","changeDataFeed","appendOnly")")}), kEvolved);
  EXPECT_EQ(
      after({TestTable::metadata(schemaOf(columns), "other-id", {{"delta.columnMapping.mode", "name"}})}),
      "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE");
}

// What writers alone use of a column says nothing to a reader; a comment does.
TEST(SchemaTracking, AColumnsMetadataCountsAsInDelta) {
  const auto column = [](const json& metadata) {
    return TestTable::metadata(
        json{{"type", "struct"},
             {"fields",
              json::array({{{"name", "id"}, {"type", "long"}, {"nullable", true}, {"metadata", metadata}}})}}
            .dump());
  };
  const auto after = [&](const json& metadata) {
    TestTable table;
    table.commit({TestTable::add("a")});
    Query query(table);
    query.run();
    table.commit({column(metadata)});
    return query.run();
  };
  EXPECT_EQ(
      after({{"delta.identity.highWaterMark", 5}, {"delta.identity.start", 1}, {"delta.identity.step", 1}}),
      "");
  EXPECT_EQ(after({{"comment", "new"}}), kEvolved);
}

// A query from an old version on reads by that version's schema first, and meets each change on its way.
TEST(SchemaTracking, FromAnOldVersionOnEveryChangeIsMet) {
  TestTable table = mappedTable();
  table.commit({mapped({{"id", "c1"}, {"w", "c2"}})});
  table.commit({TestTable::add("b")});
  Options options = kAllowed;
  options.set("startingVersion", "0");
  Query query(table, options);
  EXPECT_EQ(query.run(), kEvolved) << "the table is not what the first rows go with";
  EXPECT_TRUE(query.logged().empty());
  EXPECT_EQ(loaded(table, options), "struct<id:bigint,v:bigint>");
  EXPECT_EQ(query.run(), kEvolved);
  EXPECT_EQ(loaded(table, options), "struct<id:bigint,w:bigint>");
  EXPECT_EQ(query.run(), "");
  EXPECT_EQ(query.logged(), (std::vector<SourceOffset>{at(2, -20), at(2, -19), at(4, -1)}));
  EXPECT_EQ(entryVersions(table), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(query.numSplits(), 2);
}

// Spark fails here until the version is there.
TEST(SchemaTracking, FromTheNewestVersionOnItWaitsForTheNext) {
  TestTable table = mappedTable();
  Options options = kTracked;
  options.set("startingVersion", "latest");
  Query query(table, options);
  EXPECT_EQ(query.run(), "");
  EXPECT_TRUE(entryVersions(table).empty());
  table.commit({TestTable::add("b")});
  EXPECT_EQ(query.run(), "");
  EXPECT_EQ(entryVersions(table), (std::vector<int64_t>{2}));
}

// The option is given when the query has ended for want of it.
TEST(SchemaTracking, ALogMayBeginInTheMiddleOfAQuery) {
  TestTable table = mappedTable();
  Query query(table, {});
  EXPECT_EQ(query.run(), "");
  table.commit({TestTable::add("b")});
  table.commit({mapped({{"id", "c1"}, {"w", "c2"}})});
  table.commit({TestTable::add("c")});
  EXPECT_EQ(query.run(), "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG");
  query.setOptions(kAllowed);
  EXPECT_EQ(query.run(), kEvolved);
  EXPECT_EQ(entryVersions(table), (std::vector<int64_t>{1})) << "where the last batch ended";
  EXPECT_EQ(query.run(), kEvolved);
  EXPECT_EQ(query.run(), "");
  EXPECT_EQ(query.logged(), (std::vector<SourceOffset>{at(2, -1), at(3, -20), at(3, -19), at(5, -1)}));
  EXPECT_EQ(query.numSplits(), 3);
}

TEST(SchemaTracking, APlannedBatchOverAChangeHasNoSchema) {
  TestTable table = mappedTable();
  table.commit({mapped({{"id", "c1"}, {"w", "c2"}})});
  table.commit({TestTable::add("b")});
  SourceRun run = table.run(kTracked);
  EXPECT_EQ(conditionOf([&] { run.source().plan(at(1, -1), at(4, -1)); }),
            "DELTA_STREAMING_SCHEMA_LOG_INIT_FAILED_INCOMPATIBLE_METADATA");
  EXPECT_TRUE(entryVersions(table).empty());
}

// A process that dies at any place between the commit that changes the schema and the first rows after it.
TEST(SchemaTracking, ACrashAtAnyPlaceIsRepeatedRightly) {
  for (const char* fault : {"sourceLog.before:1=error", "sourceLog.after:1=error"}) {
    SCOPED_TRACE(fault);
    TestTable table = mappedTable();
    Query query(table, kAllowed);
    query.run();
    table.commit({mapped({{"id", "c1"}, {"w", "c2"}})});
    table.commit({TestTable::add("b")});
    armFaultPoint(fault);
    EXPECT_EQ(query.run(), "FAULT_INJECTED");
    armFaultPoint("");
    EXPECT_EQ(query.logged().back(), at(2, -19));
    const bool written = entry(table, 1).has_value();
    EXPECT_EQ(query.run(), written ? "" : kEvolved);
    EXPECT_EQ(query.run(), "");
    EXPECT_EQ(entryVersions(table), (std::vector<int64_t>{1, 2}));
    EXPECT_EQ(query.logged(), (std::vector<SourceOffset>{at(2, -1), at(2, -20), at(2, -19), at(4, -1)}));
    EXPECT_EQ(query.numSplits(), 2);
  }
}

// The batch before the change is committed, and the next offset is not written yet.
TEST(SchemaTracking, ACrashBeforeTheSecondOffsetIsRepeatedRightly) {
  TestTable table = mappedTable();
  table.run(kAllowed).drain();
  table.commit({mapped({{"id", "c1"}, {"w", "c2"}})});
  SourceRun run = table.run(kAllowed);
  run.goOnFrom(at(2, -20));
  EXPECT_EQ(run.source().latestOffset(at(2, -20), false), at(2, -19));
  EXPECT_EQ(entryVersions(table), (std::vector<int64_t>{1})) << "not before the offset is durable";
}

// Spark stands still in silence where the entry is lost but the batch is done.
TEST(SchemaTracking, ALostEntryIsWrittenAgain) {
  TestTable table = mappedTable();
  table.run(kAllowed).drain();
  table.commit({mapped({{"id", "c1"}, {"w", "c2"}})});
  SourceRun run = table.run(kAllowed);
  EXPECT_EQ(conditionOf([&] { run.source().latestOffset(at(2, -19), false); }), kEvolved);
  EXPECT_EQ(entryVersions(table), (std::vector<int64_t>{1, 2}));
}

TEST(SchemaTracking, ChangeFeedsFollowTheSchemaToo) {
  const json on = {{"delta.enableChangeDataFeed", "true"}};
  TestTable table = mappedTable(on);
  Options options = kAllowed;
  options.set("readChangeFeed", "true");
  Query query(table, options);
  EXPECT_EQ(query.run(), "");
  table.commit({TestTable::change("x"), TestTable::remove("a"), TestTable::add("b")});
  table.commit({mapped({{"id", "c1"}, {"w", "c2"}}, on)});
  table.commit({TestTable::change("y")});
  EXPECT_EQ(query.run(), kEvolved);
  EXPECT_EQ(query.run(), "");
  EXPECT_EQ(query.logged(), (std::vector<SourceOffset>{at(2, -1), at(3, -20), at(3, -19), at(4, 0)}));
  table.commit({mapped({{"id", "c1"}, {"w", "c2"}})});
  table.commit({TestTable::add("c")});
  EXPECT_EQ(query.run(), kEvolved) << "the feed was switched off";
  EXPECT_EQ(query.run(), "DELTA_MISSING_CHANGE_DATA");
}

TEST(SchemaTracking, TheInitialRowsMayHaveAnotherSchemaThanTheEntry) {
  TestTable table = mappedTable();
  Query query(table, kAllowed);
  // An engine that keeps no start of its own wrote the first entry and died.
  SourceRun(table.log(), kAllowed, table.checkpoint()).next();
  table.checkpoint().fileSystem->remove("/checkpoint/sources/0/0");
  table.commit({mapped({{"id", "c1"}, {"w", "c2"}})});
  EXPECT_EQ(query.run(), kEvolved);
  EXPECT_EQ(entryVersions(table), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(entry(table, 1)->previousEntry, -1) << "there is nothing to let through";
  query.setOptions(kTracked);
  EXPECT_EQ(query.run(), "");
}

TEST(SchemaTracking, TheLogIsOneSourcesAndLiesUnderItsCheckpoint) {
  TestTable table = mappedTable();
  const auto condition = [&](const Options& options, const std::map<std::string, std::string>& settings = {},
                             const std::string& number = "0") {
    return conditionOf([&] { SourceRun(table.log(), options, table.checkpoint(), settings, number).next(); });
  };
  const Options elsewhere{{"schemaLocation", "/elsewhere"}};
  EXPECT_EQ(condition(elsewhere), "DELTA_STREAMING_SCHEMA_LOCATION_NOT_UNDER_CHECKPOINT");
  EXPECT_EQ(
      condition(elsewhere,
                {{"spark.databricks.delta.streaming.allowSchemaLocationOutsideCheckpointLocation", "true"}}),
      "");
  EXPECT_EQ(condition(Options{{"schemaTrackingLocation", "/checkpoint"}}), "")
      << "the checkpoint itself will do";
  EXPECT_EQ(condition(Options{{"schemaTrackingLocation", "/checkpoint2"}}),
            "DELTA_STREAMING_SCHEMA_LOCATION_NOT_UNDER_CHECKPOINT");
  Options out = kTracked;
  out.set("streamingSourceTrackingId", "x/../../../elsewhere");
  EXPECT_EQ(condition(out), "DELTA_STREAMING_SCHEMA_LOCATION_NOT_UNDER_CHECKPOINT");
  EXPECT_EQ(condition(kTracked), "");
  EXPECT_EQ(condition(kTracked, {}, "1"), "DELTA_STREAMING_SCHEMA_LOCATION_CONFLICT")
      << "written by source 0";
  EXPECT_EQ(
      condition(kTracked,
                {{"spark.databricks.delta.streaming.schemaTracking.metadataPathCheck.enabled", "false"}},
                "1"),
      "");
  Options named = kTracked;
  named.set("streamingSourceTrackingId", "second");
  EXPECT_EQ(condition(named, {}, "1"), "");
  Options lossy = kTracked;
  lossy.set("failOnDataLoss", "false");
  EXPECT_EQ(condition(lossy), "DELTA_ILLEGAL_OPTION");
}

TEST(SchemaTracking, TwoSourcesOfAQueryHaveALogEach) {
  TestTable table = mappedTable();
  SourceRun first(table.log(), kTracked, table.checkpoint(), {}, "0");
  SourceRun second(table.log(), kTracked, table.checkpoint(), {}, "1");
  EXPECT_EQ(conditionOf([&] { second.source().checkBeside(first.source()); }),
            "DELTA_STREAMING_SCHEMA_LOCATION_CONFLICT");
  first.next();
  EXPECT_EQ(conditionOf([&] { second.next(); }), "DELTA_STREAMING_SCHEMA_LOCATION_CONFLICT")
      << "were it not asked";
  Options named = kTracked;
  named.set("streamingSourceTrackingId", "second");
  SourceRun third(table.log(), named, table.checkpoint(), {}, "1");
  EXPECT_EQ(conditionOf([&] { third.source().checkBeside(first.source()); }), "");
}

TEST(SchemaTracking, ADamagedLogIsNamed) {
  const auto condition = [](const std::function<void(json&)>& change) {
    TestTable table = mappedTable();
    table.run(kTracked).drain();
    FileSystem& files = *table.checkpoint().fileSystem;
    json text = json::parse(files.readAll(entryPath(0)).substr(3));
    change(text);
    files.writeAtomically(entryPath(0), "v1\n" + text.dump());
    return conditionOf([&] { table.run(kTracked).drain(); });
  };
  const auto* broken = "DELTA_STREAMING_SCHEMA_LOG_DESERIALIZE_FAILED";
  EXPECT_EQ(condition([](json&) {}), "");
  EXPECT_EQ(condition([](json& text) { text = json::array(); }), broken);
  EXPECT_EQ(condition([](json& text) { text.erase("dataSchemaJson"); }), broken);
  EXPECT_EQ(condition([](json& text) { text["deltaCommitVersion"] = -1; }), broken);
  EXPECT_EQ(condition([](json& text) { text["tableConfigurations"] = "x"; }), broken);
  EXPECT_EQ(condition([](json& text) { text["dataSchemaJson"] = "\"long\""; }),
            "DELTA_STREAMING_SCHEMA_LOG_PARSE_SCHEMA_FAILED");
  EXPECT_EQ(condition([](json& text) { text["tableId"] = "other"; }),
            "DELTA_STREAMING_SCHEMA_LOG_INCOMPATIBLE_DELTA_TABLE_ID");
  EXPECT_EQ(condition([](json& text) { text.erase("protocolJson"); }), "") << "old entries have none";
}

// What an entry says, without the order of its properties and features.
json contentOf(const std::string& text) {
  json entry = json::parse(text.substr(text.find('\n') + 1));
  json protocol = json::parse(entry["protocolJson"].get<std::string>())["protocol"];
  for (const char* features : {"readerFeatures", "writerFeatures"}) {
    if (protocol.contains(features)) std::sort(protocol[features].begin(), protocol[features].end());
  }
  entry["protocolJson"] = protocol;
  return entry;
}

// A query of Spark's whose process ended between the entry of a rename and the rows after it
// (tests/e2e/record_delta_source.py): we go through a wider type and a drop to where Spark went.
TEST(SchemaTracking, GoesOnInTheMiddleOfWhatSparkBegan) {
  namespace fs = std::filesystem;
  const fs::path recorded = fs::path(THALWEG_TEST_DATA_DIR) / "delta/evolution";
  const auto local = makeLocalFileSystem();
  const Location checkpoint{makeMemoryFileSystem(), "/checkpoint"};
  std::string log;
  for (const auto& file : fs::recursive_directory_iterator(recorded / "checkpoint/schemas")) {
    if (file.is_directory()) {
      log = "/checkpoint/schemas/" + file.path().filename().string() + "/";
      continue;
    }
    checkpoint.fileSystem->writeAtomically(log + file.path().filename().string(),
                                           local->readAll(file.path().string()));
  }
  std::vector<SourceOffset> offsets;
  for (int batch = 0; batch < 3; ++batch) {
    const std::string text =
        local->readAll((recorded / "checkpoint/offsets" / std::to_string(batch)).string());
    offsets.push_back(text.substr(text.rfind('\n') + 1));
  }
  const json done = json::parse(std::ifstream(recorded / "done.json"));
  Query query({local, (recorded / "table").string()}, checkpoint, offsets);
  // It lay elsewhere.
  Query::Settings settings = {
      {"spark.databricks.delta.streaming.schemaTracking.metadataPathCheck.enabled", "false"}};
  query.setOptions(kTracked);
  EXPECT_EQ(query.run(settings), kBlocked);
  EXPECT_EQ(done["refusal"], kBlocked);
  const auto first = SchemaLogEntry::parse(checkpoint.fileSystem->readAll(log + "0"), "entry");
  EXPECT_EQ(javaHash(first.sourceFolder), done["checkpointHash"]) << "as Spark named the checkpoint";
  query.setOptions(kAllowed);
  EXPECT_EQ(query.run(settings), kEvolved);
  EXPECT_EQ(query.run(settings), "");
  EXPECT_EQ(query.logged(), done["offsets"].get<std::vector<SourceOffset>>());
  ASSERT_EQ(done["log"].size(), 4u);
  for (size_t number = 0; number < done["log"].size(); ++number) {
    json ours = contentOf(checkpoint.fileSystem->readAll(log + std::to_string(number)));
    json theirs = contentOf(done["log"][number]);
    if (number > 1) ours["sourceMetadataPath"] = theirs["sourceMetadataPath"];
    EXPECT_EQ(ours, theirs) << number;
  }
  RowTexts rows;
  readSplits(query.splits(), 1, &rows);
  EXPECT_EQ(rows, (RowTexts{"4|", "5|"}));
}

}  // namespace
}  // namespace thalweg
