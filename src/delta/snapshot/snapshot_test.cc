#include "delta/snapshot/snapshot.h"
#include "delta/snapshot/clustering.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/testing/condition_of.h"
#include "delta/actions/action_writer.h"
#include "delta/log/log_files.h"
#include "delta/log/parsed_stats.h"
#include "delta/snapshot/delta_log.h"
#include "delta/snapshot/protocol_choice.h"
#include "delta/snapshot/table_features.h"
#include "delta/snapshot/table_properties.h"

namespace thalweg::delta {
namespace {

constexpr int64_t kNow = 1'800'000'000'000;

AddFile addOf(const std::string& path, int64_t size = 10) {
  AddFile add;
  add.path = path;
  add.size = size;
  add.partitionValues = {{"p", "1"}, {"q", std::nullopt}};
  add.stats = R"({"numRecords":1})";
  return add;
}

RemoveFile removeOf(const std::string& path, int64_t deletedMs = kNow) {
  RemoveFile remove;
  remove.path = path;
  remove.deletionTimestamp = deletedMs;
  return remove;
}

std::vector<std::string> livePaths(const FileSet& files) {
  std::vector<std::string> paths;
  files.forEachLive([&](const FileRecord& record) { paths.emplace_back(record.logPath()); });
  return paths;
}

TEST(FileRecords, KeepEveryField) {
  AddFile add = addOf("a b", 12);
  add.modificationTime = 34;
  add.tags = {{"k", "v"}, {"z", ""}};
  add.deletionVector = DeletionVector{"u", "xyz", 7, 8, 9, 10};
  add.baseRowId = 11;
  add.defaultRowCommitVersion = 13;
  add.clusteringProvider = "liquid";
  std::string packed;
  packFile(fieldsOf(add), packed);
  AddFile read = FileRecord(packed.data()).toAdd();
  EXPECT_FALSE(read.dataChange);
  read.dataChange = true;
  EXPECT_EQ(toJsonLine(read), toJsonLine(add));
  EXPECT_EQ(FileRecord(packed.data()).dvUniqueId(), "uxyz@7");

  RemoveFile remove = removeOf("r", 5);
  remove.dataChange = false;
  remove.extendedFileMetadata = true;
  remove.partitionValues = add.partitionValues;
  remove.size = 6;
  remove.deletionVector = add.deletionVector;
  packed.clear();
  packFile(fieldsOf(remove), packed);
  EXPECT_EQ(toJsonLine(FileRecord(packed.data()).toRemove()), toJsonLine(remove));
  RemoveFile bare;
  bare.path = "r";
  bare.dataChange = false;
  packed.clear();
  packFile(fieldsOf(bare), packed);
  EXPECT_EQ(toJsonLine(FileRecord(packed.data()).toRemove()), toJsonLine(bare));
}

TEST(FileSets, TheLastOfAKeyWinsInAnySpelling) {
  FileSetBuilder builder(FileSet("/t"));
  builder.add(addOf("a%20b", 10));
  builder.add(addOf("file:/t/a b", 20));
  builder.add(addOf("c", 5));
  FileSet first = std::move(builder).finish(0);
  EXPECT_EQ(first.totals().numFiles, 2);
  EXPECT_EQ(first.totals().sizeInBytes, 25);
  FileSetBuilder next(first);
  next.remove(removeOf("/t/a%20b"));
  next.remove(removeOf("never there"));
  FileSet second = std::move(next).finish(0);
  EXPECT_EQ(livePaths(second), (std::vector<std::string>{"c"}));
  EXPECT_EQ(second.totals().sizeInBytes, 5);
  EXPECT_EQ(second.totals().numTombstones, 2);
  FileSetBuilder revival(second);
  revival.add(addOf("a b", 7));
  FileSet third = std::move(revival).finish(0);
  EXPECT_TRUE(third.containsLive("a b", ""));
  EXPECT_EQ(third.totals().numTombstones, 1);
  EXPECT_EQ(first.totals().numFiles, 2) << "older sets stay";
}

TEST(FileSets, ExpiredTombstonesAreNotVisited) {
  FileSetBuilder builder(FileSet("/t"));
  builder.remove(removeOf("old", 100));
  builder.remove(removeOf("new", 200));
  RemoveFile undated;
  undated.path = "undated";
  builder.remove(undated);
  const FileSet files = std::move(builder).finish(0);
  std::vector<std::string> paths;
  files.forEachTombstone(150, [&](const FileRecord& record) { paths.emplace_back(record.logPath()); });
  EXPECT_EQ(paths, (std::vector<std::string>{"new"}));
}

// Every state of a long run of small commits equals a plain map's.
TEST(FileSets, ManySmallCommitsEqualAMap) {
  std::map<std::string, int64_t> model;
  FileSet files("/t");
  uint32_t random = 7;
  const auto next = [&] { return random = random * 1664525 + 1013904223; };
  for (int commit = 0; commit < 2000; ++commit) {
    FileSetBuilder builder(files);
    for (int i = 0; i < 3; ++i) {
      const std::string path = "f" + std::to_string(next() >> 23);
      if ((next() >> 16) % 3 == 0) {
        builder.remove(removeOf(path));
        model.erase(path);
      } else {
        const int64_t size = next() >> 20;
        builder.add(addOf(path, size));
        model[path] = size;
      }
    }
    files = std::move(builder).finish(0);
    ASSERT_EQ(files.totals().numFiles, static_cast<int64_t>(model.size()));
  }
  std::map<std::string, int64_t> seen;
  int64_t total = 0;
  files.forEachLive([&](const FileRecord& record) {
    EXPECT_TRUE(seen.emplace(record.logPath(), record.sizeBytes()).second) << "twice: " << record.logPath();
    total += record.sizeBytes();
  });
  EXPECT_EQ(seen, model);
  EXPECT_EQ(files.totals().sizeInBytes, total);
  for (const auto& [path, size] : model) EXPECT_EQ(files.findLive(path, "")->size, size);
}

TEST(ParsedStats, BecomeTheJsonOfAdds) {
  const auto type = arrow::struct_(
      {arrow::field("numRecords", arrow::int64()),
       arrow::field("minValues", arrow::struct_({
                                     arrow::field("i", arrow::int32()),
                                     arrow::field("d", arrow::date32()),
                                     arrow::field("t", arrow::timestamp(arrow::TimeUnit::MICRO, "UTC")),
                                     arrow::field("n", arrow::timestamp(arrow::TimeUnit::MICRO)),
                                     arrow::field("x", arrow::float64()),
                                     arrow::field("s", arrow::utf8()),
                                 }))});
  std::unique_ptr<arrow::ArrayBuilder> made;
  ASSERT_TRUE(arrow::MakeBuilder(arrow::default_memory_pool(), type, &made).ok());
  auto& builder = static_cast<arrow::StructBuilder&>(*made);
  auto& minimum = static_cast<arrow::StructBuilder&>(*builder.field_builder(1));
  ASSERT_TRUE(builder.Append().ok());
  ASSERT_TRUE(static_cast<arrow::Int64Builder&>(*builder.field_builder(0)).Append(3).ok());
  ASSERT_TRUE(minimum.Append().ok());
  ASSERT_TRUE(minimum.field_builder(0)->AppendNull().ok());
  ASSERT_TRUE(static_cast<arrow::Date32Builder&>(*minimum.field_builder(1)).Append(-1).ok());
  ASSERT_TRUE(static_cast<arrow::TimestampBuilder&>(*minimum.field_builder(2)).Append(-1).ok());
  ASSERT_TRUE(static_cast<arrow::TimestampBuilder&>(*minimum.field_builder(3)).Append(1'500).ok());
  ASSERT_TRUE(static_cast<arrow::DoubleBuilder&>(*minimum.field_builder(4))
                  .Append(std::numeric_limits<double>::infinity())
                  .ok());
  ASSERT_TRUE(static_cast<arrow::StringBuilder&>(*minimum.field_builder(5)).Append("a\"b").ok());
  ASSERT_TRUE(builder.AppendNull().ok());
  const auto array = *builder.Finish();
  EXPECT_EQ(
      parsedStatsToJson(*array, 0),
      R"({"numRecords":3,"minValues":{"d":"1969-12-31","t":"1969-12-31T23:59:59.999Z","n":"1970-01-01T00:00:00.001",)"
      R"("x":"Infinity","s":"a\"b"}})");
  EXPECT_FALSE(parsedStatsToJson(*array, 1));
}

Protocol features(std::vector<std::string> readers, std::vector<std::string> writers) {
  Protocol protocol;
  protocol.minReaderVersion = 3;
  protocol.minWriterVersion = 7;
  protocol.readerFeatures = std::move(readers);
  protocol.writerFeatures = std::move(writers);
  return protocol;
}

Protocol legacy(int32_t reader, int32_t writer) {
  Protocol protocol;
  protocol.minReaderVersion = reader;
  protocol.minWriterVersion = writer;
  return protocol;
}

TEST(TableFeatures, LegacyVersionsImplyTheirRowsAndThoseAbove) {
  EXPECT_EQ(writerFeatures(legacy(1, 1)), (std::vector<std::string>{}));
  EXPECT_EQ(writerFeatures(legacy(1, 2)), (std::vector<std::string>{"appendOnly", "invariants"}));
  EXPECT_EQ(writerFeatures(legacy(2, 5)),
            (std::vector<std::string>{"appendOnly", "invariants", "checkConstraints", "changeDataFeed",
                                      "generatedColumns", "columnMapping"}));
  EXPECT_EQ(readerFeatures(legacy(2, 5)), (std::vector<std::string>{"columnMapping"}));
  EXPECT_EQ(writerFeatures(legacy(1, 7)), (std::vector<std::string>{})) << "7 means only what is listed";
}

TEST(TableFeatures, ReadingRefusesUnknownReaderFeaturesByName) {
  EXPECT_NO_THROW(checkReadable(
      features({"deletionVectors", "columnMapping", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"},
               {"whatever"}),
      "t"));
  try {
    checkReadable(features({"deletionVectors", "catalogManaged", "fromTheFuture"}, {}), "t");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.condition(), "DELTA_UNSUPPORTED_FEATURES_FOR_READ");
    EXPECT_EQ(error.parameters().at("unsupported"), "catalogManaged, fromTheFuture");
  }
  EXPECT_EQ(conditionOf([] { checkReadable(legacy(4, 7), "t"); }), "DELTA_INVALID_PROTOCOL_VERSION");
  EXPECT_EQ(conditionOf([] { checkReadable(legacy(3, 6), "t"); }), "DELTA_INVALID_PROTOCOL_VERSION");
  EXPECT_NO_THROW(checkReadable(legacy(2, 7), "t"));
}

TEST(TableFeatures, WritingRefusesWhatIsNotBuilt) {
  Metadata plain;
  plain.schemaString = R"({"type":"struct","fields":[]})";
  EXPECT_NO_THROW(checkWritable(legacy(1, 2), plain, "t"));
  EXPECT_NO_THROW(checkWritable(legacy(2, 6), plain, "t"));
  EXPECT_EQ(conditionOf([&] { checkWritable(features({}, {"icebergCompatV2"}), plain, "t"); }),
            "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE");
}

// What follows each of Spark's commits into such a table would be missing after ours.
TEST(TableFeatures, WritingRefusesPropertiesThatAskForMoreThanTheCommit) {
  for (const auto& [name, value] : {std::pair("delta.compatibility.symlinkFormatManifest.enabled", "true"),
                                    std::pair("delta.universalFormat.enabledFormats", "hudi")}) {
    Metadata metadata;
    metadata.schemaString = R"({"type":"struct","fields":[]})";
    metadata.configuration[name] = value;
    EXPECT_EQ(conditionOf([&] { checkWritable(legacy(1, 2), metadata, "t"); }),
              "UNSUPPORTED_FEATURE.THALWEG");
    EXPECT_EQ(conditionOf([&] { protocolForNewTable(metadata, "t"); }), "UNSUPPORTED_FEATURE.THALWEG");
  }
  Metadata off;
  off.schemaString = R"({"type":"struct","fields":[]})";
  off.configuration["delta.compatibility.symlinkFormatManifest.enabled"] = "false";
  EXPECT_NO_THROW(checkWritable(legacy(1, 2), off, "t"));
}

// The pairs of versions are those that Spark 4.2 with Delta 4.4 gives such tables.
TEST(TableFeatures, AProtocolIsTheLowestThatMeansTheFeatures) {
  Metadata metadata;
  metadata.schemaString =
      R"({"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{}}]})";
  EXPECT_EQ(protocolForNewTable(metadata, "t"), legacy(1, 2));
  Metadata constrained = metadata;
  constrained.configuration["delta.constraints.positive"] = "x > 0";
  EXPECT_EQ(upgradedProtocol(legacy(1, 2), constrained, "t"), legacy(1, 3));
  EXPECT_EQ(upgradedProtocol(legacy(1, 4), constrained, "t"), legacy(1, 4)) << "has it already";
  Metadata mapped = metadata;
  mapped.configuration["delta.columnMapping.mode"] = "name";
  Protocol mapping;
  mapping.minReaderVersion = 2;
  mapping.minWriterVersion = 7;
  mapping.writerFeatures = {"appendOnly", "columnMapping", "invariants"};
  EXPECT_EQ(protocolForNewTable(mapped, "t"), mapping);
  EXPECT_EQ(upgradedProtocol(legacy(1, 4), mapped, "t"), legacy(2, 5));
}

// Asked of Spark 4.2 with Delta 4.4: readers that do not know a type would be shut out of the table for good.
TEST(TableFeatures, ATableGetsThoseOfItsTypesByNameOnly) {
  Metadata metadata;
  metadata.schemaString =
      R"({"type":"struct","fields":[{"name":"s","type":{"type":"struct","fields":[)"
      R"({"name":"t","type":"timestamp_ntz","nullable":true,"metadata":{}}]},"nullable":true,"metadata":{}}]})";
  EXPECT_EQ(protocolForNewTable(metadata, "t").readerFeatures, (std::vector<std::string>{"timestampNtz"}));
  EXPECT_EQ(conditionOf([&] { upgradedProtocol(legacy(1, 2), metadata, "t"); }),
            "DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT");
  const Protocol asked = upgradedProtocol(legacy(1, 2), metadata, "t", {"timestampNtz"});
  EXPECT_EQ(asked.readerFeatures, (std::vector<std::string>{"timestampNtz"}));
  EXPECT_EQ(upgradedProtocol(asked, metadata, "t"), asked) << "has it already";
}

// Asked of Spark 4.2 with Delta 4.4: clients of the preview would not read a table with the stable feature.
TEST(TableFeatures, APreviewTakesTheStableFeaturesPlace) {
  Metadata metadata;
  metadata.schemaString =
      R"({"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{}}]})";
  metadata.configuration["delta.enableTypeWidening"] = "true";
  const Protocol preview = protocolForNewTable(metadata, "t", {"typeWidening-preview"});
  EXPECT_EQ(preview.readerFeatures, (std::vector<std::string>{"typeWidening-preview"}));
  EXPECT_EQ(upgradedProtocol(preview, metadata, "t"), preview);
  EXPECT_NO_THROW(checkWritable(preview, metadata, "t"));
}

TEST(TableFeatures, PropertiesAskForFeaturesAndGo) {
  Metadata metadata;
  metadata.schemaString = R"({"type":"struct","fields":[]})";
  metadata.configuration = {{"delta.feature.allowColumnDefaults", "supported"},
                            {"delta.feature.clustering", "enabled"},
                            {"delta.minWriterVersion", "3"},
                            {"mine", "kept"}};
  EXPECT_EQ(takeFeatureRequests(&metadata, "t"),
            (std::set<std::string>{"allowColumnDefaults", "clustering", "domainMetadata", "appendOnly",
                                   "invariants", "checkConstraints"}));
  EXPECT_EQ(metadata.configuration, (std::map<std::string, std::string>{{"mine", "kept"}}));
  metadata.configuration["delta.feature.fromTheFuture"] = "supported";
  EXPECT_EQ(conditionOf([&] { takeFeatureRequests(&metadata, "t"); }),
            "DELTA_UNSUPPORTED_FEATURES_IN_CONFIG");
}

// What Spark 4.2 with Delta 4.4 leaves after ALTER TABLE … DROP FEATURE.
TEST(TableFeatures, AProtocolWithoutAFeatureIsTheLowestThatMeansTheRest) {
  EXPECT_EQ(protocolWithout(legacy(1, 3), "checkConstraints"), legacy(1, 2));
  const Protocol vectors = features({"deletionVectors"}, {"deletionVectors", "invariants", "appendOnly"});
  EXPECT_EQ(protocolWithout(vectors, "deletionVectors"), legacy(1, 2));
  const Protocol kept = protocolWithout(vectors, "deletionVectors", {"checkpointProtection"});
  EXPECT_EQ(kept.minReaderVersion, 1);
  EXPECT_EQ(kept.minWriterVersion, 7);
  EXPECT_FALSE(kept.readerFeatures);
  EXPECT_EQ(*kept.writerFeatures,
            (std::vector<std::string>{"appendOnly", "checkpointProtection", "invariants"}));
}

TEST(TableProperties, AreKnownInAnyCaseAndHeldToWhatTheyTake) {
  EXPECT_EQ(tablePropertyName("DELTA.CHECKPOINTPOLICY"), "delta.checkpointPolicy");
  EXPECT_EQ(tablePropertyName("A.B"), "A.B");
  const auto condition = [](const char* name, const char* value) {
    return conditionOf([&] { checkTableProperty(name, value, false); });
  };
  EXPECT_EQ(condition("delta.nope", "x"), "DELTA_UNKNOWN_CONFIGURATION");
  EXPECT_EQ(conditionOf([&] { checkTableProperty("delta.nope", "x", true); }), "none");
  EXPECT_EQ(condition("delta.checkpointPolicy", "v3"), "UNSUPPORTED_TABLE_CHANGE");
  EXPECT_EQ(condition("delta.checkpointInterval", "0"), "UNSUPPORTED_TABLE_CHANGE");
  EXPECT_EQ(condition("delta.logRetentionDuration", "bogus"), "DELTA_INVALID_INTERVAL");
  EXPECT_EQ(condition("delta.logRetentionDuration", "interval 1 week"), "none");
  EXPECT_EQ(condition("delta.feature.v2Checkpoint", "supported"), "none");
  EXPECT_EQ(condition("my.own", "anything"), "none");
}

// What is taken is obeyed: Java's numbers may have a plus.
TEST(TableProperties, ANumberMayHaveASign) {
  EXPECT_EQ(parsePropertyNumber("+5"), 5);
  EXPECT_EQ(parsePropertyNumber("-1"), -1);
  for (const char* text : {"", "+", "+-1", "--1", "5 ", "1.0", "9223372036854775808"})
    EXPECT_EQ(parsePropertyNumber(text), std::nullopt) << text;
  Metadata metadata;
  metadata.configuration = {{"delta.checkpointInterval", "+5"}, {std::string(kCheckpointProtection), "+4"}};
  EXPECT_EQ(checkpointInterval(metadata), 5);
  EXPECT_EQ(checkpointProtectionVersion(features({}, {"checkpointProtection"}), metadata), 4);
}

// Each asked of Spark 4.2 with Delta 4.4 in ALTER TABLE.
TEST(TableProperties, TakeTheValuesThatSparkTakes) {
  const auto condition = [](const char* name, const char* value) {
    return conditionOf([&] { checkTableProperty(name, value, false); });
  };
  struct Row {
    const char* name;
    std::vector<const char*> taken;
    std::vector<const char*> refused;
  };
  const std::vector<Row> rows = {
      {"delta.dataSkippingNumIndexedCols",
       {"-1", "0", "5", "+5"},
       {"-2", "x", "", "1.5", "99999999999", "+-1"}},
      {"delta.dataSkippingStatsColumns", {"id", "", " ", "`id`", "id, s"}, {"id,"}},
      {"delta.dataSkippingStringPrefixLength", {"0", "16"}, {"-1", "x"}},
      {"delta.isolationLevel", {"Serializable", "SERIALIZABLE"}, {"WriteSerializable", "SnapshotIsolation"}},
      {"delta.autoOptimize", {"true", "false"}, {"x"}},
      {"delta.autoOptimize.autoCompact", {"true", "false"}, {"x", "auto", "legacy", ""}},
      {"delta.deletedFileRetentionDuration",
       {"interval 0 seconds", "30 days", "1 day -2 hours", "interval 1.5 seconds", "1 microsecond"},
       {"-1 days", "interval -1 day", "1 month", "interval 1 year", "interval 1 month 2 days"}},
      {"delta.parquet.format.version", {"2.12.0", "1.0.0", "2.0.0"}, {"x", "1", "2", "v1", "3.0", "1.0"}},
      {"delta.minReaderVersion", {"1", "3"}, {"x", "9"}},
      {"delta.checkpointPolicy", {"v2", "classic"}, {"V2", "x"}},
      {"delta.checkpointInterval", {"5"}, {"x", "99999999999", "0"}},
      {"delta.appendOnly", {"true"}, {"x", ""}},
      {"delta.randomPrefixLength", {"2"}, {"0", "x"}},
      {"delta.requireCheckpointProtectionBeforeVersion", {"2"}, {"-2"}},
      {"delta.rowTrackingSuspended", {"true"}, {"x"}}};
  for (const Row& row : rows) {
    for (const char* value : row.taken)
      EXPECT_EQ(condition(row.name, value), "none") << row.name << " " << value;
    for (const char* value : row.refused)
      EXPECT_EQ(condition(row.name, value), "UNSUPPORTED_TABLE_CHANGE") << row.name << " " << value;
  }
  EXPECT_EQ(condition("delta.isolationLevel", "x"), "DELTA_INVALID_ISOLATION_LEVEL");
  for (const char* value : {"30", "interval", "1 weeks 2 ms", "1day", "x"})
    EXPECT_EQ(condition("delta.logRetentionDuration", value), "DELTA_INVALID_INTERVAL") << value;
  EXPECT_EQ(condition("delta.logRetentionDuration", ""), "DELTA_INVALID_CALENDAR_INTERVAL_EMPTY");
  EXPECT_EQ(condition("delta.columnMapping.maxColumnId", "5"), "DELTA_CANNOT_MODIFY_TABLE_PROPERTY");
  for (const char* name : {"delta.targetFileSize", "delta.tuneFileSizesForRewrites",
                           "delta.rowTracking.materializedRowIdColumnName"})
    EXPECT_EQ(condition(name, "1"), "DELTA_UNKNOWN_CONFIGURATION") << name;
}

TEST(TableProperties, KeepTheLogAsLongAsRemovedFiles) {
  const auto condition = [](std::map<std::string, std::string> properties) {
    return conditionOf([&] { checkRetentions(properties); });
  };
  const std::string log(kLogRetention), deleted("delta.deletedFileRetentionDuration");
  EXPECT_EQ(condition({}), "none");
  EXPECT_EQ(condition({{log, "1 day"}}), "UNSUPPORTED_TABLE_CHANGE") << "removed files stay for 7 days";
  EXPECT_EQ(condition({{log, "1 day"}, {deleted, "1 hour"}}), "none");
  EXPECT_EQ(condition({{deleted, "30 days"}}), "none") << "so does the log";
  EXPECT_EQ(condition({{deleted, "31 days"}}), "UNSUPPORTED_TABLE_CHANGE");
}

TEST(TableFeatures, RetentionTexts) {
  EXPECT_EQ(parseRetentionMs("interval 1 week"), 7LL * 24 * 3600 * 1000);
  EXPECT_EQ(parseRetentionMs("2 days 12 HOURS"), 60LL * 3600 * 1000);
  EXPECT_EQ(parseRetentionMs("interval 0 seconds"), 0);
  EXPECT_FALSE(parseRetentionMs("interval 1 month"));
  EXPECT_FALSE(parseRetentionMs("week"));
  EXPECT_FALSE(parseRetentionMs("9223372036854775807 weeks"));
  Metadata metadata;
  EXPECT_EQ(deletedFileRetentionMs(metadata), 7LL * 24 * 3600 * 1000);
  EXPECT_EQ(checkpointInterval(metadata), 10);
  metadata.configuration["delta.checkpointInterval"] = "3";
  EXPECT_EQ(checkpointInterval(metadata), 3);
  metadata.configuration["delta.checkpointInterval"] = "-3";
  EXPECT_EQ(checkpointInterval(metadata), 10);
}

// A table whose commits' times a test decides.
class FixedTimes : public FileSystem {
 public:
  explicit FixedTimes(std::shared_ptr<FileSystem> store) : store_(std::move(store)) {}
  std::map<std::string, int64_t> times;  // by path
  int lists = 0;

  std::string uriOf(std::string_view path) const override { return store_->uriOf(path); }
  std::optional<FileInfo> stat(const std::string& path) override {
    auto info = store_->stat(path);
    if (info) set(*info);
    return info;
  }
  std::vector<FileInfo> list(const std::string& directory) override { return listFrom(directory, ""); }
  std::vector<FileInfo> listFrom(const std::string& directory, std::string_view first) override {
    ++lists;
    auto files = store_->listFrom(directory, first);
    for (FileInfo& file : files) set(file);
    return files;
  }
  std::string readAll(const std::string& path) override { return store_->readAll(path); }
  std::shared_ptr<arrow::io::RandomAccessFile> openInput(const std::string& path) override {
    return store_->openInput(path);
  }
  std::shared_ptr<arrow::io::OutputStream> openOutput(const std::string& path) override {
    return store_->openOutput(path);
  }
  void writeAtomically(const std::string& path, std::string_view text) override {
    store_->writeAtomically(path, text);
  }
  PutOutcome putIfAbsent(const std::string& path, std::string_view text,
                         const std::function<void()>& then) override {
    return store_->putIfAbsent(path, text, then);
  }
  void sync(const std::string& path) override { store_->sync(path); }
  void makeDirectories(const std::string& path) override { store_->makeDirectories(path); }
  void remove(const std::string& path) override { store_->remove(path); }
  void removeTree(const std::string& path) override { store_->removeTree(path); }

 private:
  void set(FileInfo& file) {
    if (const auto it = times.find(file.path); it != times.end()) file.modificationTimeMs = it->second;
  }
  std::shared_ptr<FileSystem> store_;
};

class DeltaLogTest : public testing::Test {
 protected:
  DeltaLogTest() : store_(std::make_shared<FixedTimes>(makeMemoryFileSystem())), table_{store_, "/t"} {}

  void commit(int64_t version, int64_t timeMs, const std::string& moreLines = "") {
    std::string text =
        "{\"commitInfo\":{\"timestamp\":1,\"operation\":\"WRITE\",\"operationParameters\":{\"mode\":"
        "\"Append\","
        "\"n\":[1]},\"operationMetrics\":{\"numFiles\":\"1\"},\"isBlindAppend\":true}}\n";
    if (version == 0) {
      text +=
          "{\"protocol\":{\"minReaderVersion\":1,\"minWriterVersion\":2}}\n"
          "{\"metaData\":{\"id\":\"m\",\"schemaString\":\"{\\\"type\\\":\\\"struct\\\",\\\"fields\\\":[]}\","
          "\"partitionColumns\":[],\"configuration\":{}}}\n";
    }
    text += "{\"add\":{\"path\":\"f" + std::to_string(version) +
            "\",\"partitionValues\":{},\"size\":1,"
            "\"modificationTime\":1,\"dataChange\":true}}\n" +
            moreLines;
    const std::string path = "/t/_delta_log/" + commitFileName(version);
    store_->writeAtomically(path, text);
    store_->times[path] = timeMs;
  }

  std::shared_ptr<FixedTimes> store_;
  Location table_;
};

TEST_F(DeltaLogTest, WithoutALogThereIsNoTable) {
  DeltaLog log(table_);
  EXPECT_FALSE(log.update());
  EXPECT_EQ(conditionOf([&] { log.require(); }), "DELTA_TABLE_NOT_FOUND");
}

TEST_F(DeltaLogTest, UpdatesReadOnlyNewCommitsWithoutListing) {
  commit(0, 100);
  DeltaLog log(table_);
  EXPECT_EQ(log.update()->numFiles(), 1);
  const int lists = store_->lists;
  EXPECT_EQ(log.update(), log.cached()) << "nothing new: the same snapshot";
  commit(1, 200);
  commit(2, 300);
  EXPECT_EQ(log.update()->version(), 2);
  EXPECT_EQ(log.cached()->numFiles(), 3);
  EXPECT_EQ(store_->lists, lists);
}

TEST_F(DeltaLogTest, ARecreatedTableIsReadAnew) {
  commit(0, 100);
  commit(1, 200);
  DeltaLog log(table_);
  log.update();
  store_->removeTree("/t");
  EXPECT_FALSE(log.update());
  commit(0, 500);
  EXPECT_EQ(log.update()->version(), 0);
  commit(0, 600);
  commit(1, 700);
  EXPECT_EQ(log.update()->timestampMs(), 700);
}

TEST_F(DeltaLogTest, TimeTravelByVersion) {
  for (int64_t version = 0; version < 4; ++version) commit(version, 100 * (version + 1));
  DeltaLog log(table_);
  EXPECT_EQ(log.snapshotAt(1)->numFiles(), 2);
  EXPECT_EQ(log.snapshotAt(1)->timestampMs(), 200);
  EXPECT_EQ(log.snapshotAt(3)->numFiles(), 4);
  EXPECT_EQ(conditionOf([&] { log.snapshotAt(4); }), "DELTA_VERSION_NOT_FOUND");
  EXPECT_EQ(conditionOf([&] { log.snapshotAt(-1); }), "DELTA_VERSION_NOT_FOUND");
}

TEST_F(DeltaLogTest, TimeTravelByTimestampTakesTheLastCommitNotAfter) {
  for (int64_t version = 0; version < 4; ++version) commit(version, 100 * (version + 1));
  DeltaLog log(table_);
  EXPECT_EQ(log.snapshotAtTimestamp(100)->version(), 0);
  EXPECT_EQ(log.snapshotAtTimestamp(299)->version(), 1);
  EXPECT_EQ(log.snapshotAtTimestamp(400)->version(), 3);
  EXPECT_EQ(conditionOf([&] { log.snapshotAtTimestamp(99); }),
            "DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION");
  EXPECT_EQ(conditionOf([&] { log.snapshotAtTimestamp(401); }), "DELTA_TIMESTAMP_GREATER_THAN_COMMIT");
  EXPECT_EQ(log.snapshotAtTimestamp(401, OutOfRange::Clamp)->version(), 3);
  EXPECT_EQ(log.snapshotAtTimestamp(1, OutOfRange::Clamp)->version(), 0);
}

TEST_F(DeltaLogTest, TimesAreMadeToRise) {
  commit(0, 1000);
  commit(1, 900);
  commit(2, 900);
  commit(3, 5000);
  const auto times = readCommitTimes(*loadSnapshot(table_));
  std::vector<int64_t> values;
  for (const CommitTime& time : times) values.push_back(time.timestampMs);
  EXPECT_EQ(values, (std::vector<int64_t>{1000, 1001, 1002, 5000}));
  EXPECT_EQ(loadSnapshot(table_, 2)->timestampMs(), 1002);
  EXPECT_EQ(versionAtTimestamp(*loadSnapshot(table_), 1001), 1);
  const auto some = readFileTimes(*table_.fileSystem, table_.path + "/_delta_log", 1, 2);
  ASSERT_EQ(some.size(), 2u);
  EXPECT_EQ(some[0].timestampMs, 1001) << "over the commit before the range";
  EXPECT_EQ(some[1].version, 2);
}

// A table that was copied: its first versions have no time but their files', which are of the copy, and those
// since in-commit timestamps were switched on have their own, of before.
class CopiedTableTest : public DeltaLogTest {
 protected:
  static constexpr int64_t kCopiedMs = 1'000'000;
  static constexpr int64_t kEnabledMs = 1000;

  CopiedTableTest() {
    for (int64_t version = 0; version < 3; ++version) commit(version, kCopiedMs + version);
    for (int64_t version = 3; version < 7; ++version)
      commitWithTime(version, kEnabledMs + 100 * (version - 3));
  }

  void commitWithTime(int64_t version, int64_t timeMs) {
    std::string text = "{\"commitInfo\":{\"inCommitTimestamp\":" + std::to_string(timeMs) + "}}\n";
    if (version == 3) {
      text +=
          R"({"protocol":{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":["inCommitTimestamp"]}})"
          "\n"
          R"({"metaData":{"id":"m","schemaString":"{\"type\":\"struct\",\"fields\":[]}","partitionColumns":[],)"
          R"("configuration":{"delta.enableInCommitTimestamps":"true",)"
          R"("delta.inCommitTimestampEnablementVersion":"3","delta.inCommitTimestampEnablementTimestamp":"1000"}}})"
          "\n";
    }
    const std::string path = "/t/_delta_log/" + commitFileName(version);
    store_->writeAtomically(path, text);
    store_->times[path] = kCopiedMs + version;
  }

  DeltaLog log_{table_};
};

// As DeltaHistoryManager of Delta 4.4: from the time on at which they were switched on, only the commits that
// have them are asked; before it, only the others.
TEST_F(CopiedTableTest, TimesSinceInCommitTimestampsAreLookedUpAmongThem) {
  for (int64_t k = 0; k < 4; ++k) {
    EXPECT_EQ(log_.snapshotAtTimestamp(kEnabledMs + 100 * k)->version(), 3 + k);
    EXPECT_EQ(firstVersionSince(*log_.require(), kEnabledMs + 100 * k), 3 + k);
  }
  EXPECT_EQ(log_.snapshotAtTimestamp(kEnabledMs + 150)->version(), 4);
  EXPECT_EQ(firstVersionSince(*log_.require(), kEnabledMs + 150), 5);
  EXPECT_EQ(conditionOf([&] { log_.snapshotAtTimestamp(kEnabledMs + 301); }),
            "DELTA_TIMESTAMP_GREATER_THAN_COMMIT");
  EXPECT_EQ(conditionOf([&] { firstVersionSince(*log_.require(), kCopiedMs); }),
            "DELTA_TIMESTAMP_GREATER_THAN_COMMIT");
}

TEST_F(CopiedTableTest, TimesBeforeThemAreThoseOfFiles) {
  EXPECT_EQ(conditionOf([&] { log_.snapshotAtTimestamp(kEnabledMs - 1); }),
            "DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION");
  EXPECT_EQ(log_.snapshotAtTimestamp(kEnabledMs - 1, OutOfRange::Clamp)->version(), 0);
  for (int64_t version = 0; version < 3; ++version)
    store_->times["/t/_delta_log/" + commitFileName(version)] = 100 * (version + 1);
  EXPECT_EQ(log_.snapshotAtTimestamp(250)->version(), 1);
  EXPECT_EQ(log_.snapshotAtTimestamp(kEnabledMs - 1)->version(), 2);
  EXPECT_EQ(log_.snapshotAtTimestamp(kEnabledMs)->version(), 3);
  EXPECT_EQ(firstVersionSince(*log_.require(), 250), 2);
  EXPECT_EQ(firstVersionSince(*log_.require(), 301), 3);
}

TEST_F(DeltaLogTest, ChangesSinceATimeStartWithTheFirstCommitNotBefore) {
  for (int64_t version = 0; version < 3; ++version) commit(version, 100 * (version + 1));
  const SnapshotPtr newest = loadSnapshot(table_);
  EXPECT_EQ(firstVersionSince(*newest, 1), 0);
  EXPECT_EQ(firstVersionSince(*newest, 200), 1);
  EXPECT_EQ(firstVersionSince(*newest, 201), 2);
  EXPECT_EQ(conditionOf([&] { firstVersionSince(*newest, 301); }), "DELTA_TIMESTAMP_GREATER_THAN_COMMIT");
}

TEST_F(DeltaLogTest, HistoryIsNewestFirst) {
  commit(0, 100);
  commit(1, 200);
  commit(2, 300);
  DeltaLog log(table_);
  const auto history = log.history(2);
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].version, 2);
  EXPECT_EQ(history[0].timestampMs, 300);
  EXPECT_EQ(history[0].operation, "WRITE");
  EXPECT_EQ(history[0].operationParameters,
            (std::map<std::string, std::optional<std::string>>{{"mode", "Append"}, {"n", "[1]"}}));
  EXPECT_EQ(history[0].operationMetrics.at("numFiles"), "1");
  EXPECT_EQ(history[0].isBlindAppend, true);
  EXPECT_EQ(history[1].version, 1);
}

TEST_F(DeltaLogTest, Detail) {
  commit(0, 100);
  commit(1, 200);
  const TableDetail detail = describeDetail(*loadSnapshot(table_));
  EXPECT_EQ(detail.format, "delta");
  EXPECT_EQ(detail.id, "m");
  EXPECT_EQ(detail.numFiles, 2);
  EXPECT_EQ(detail.sizeInBytes, 2);
  EXPECT_EQ(detail.lastModifiedMs, 200);
  EXPECT_EQ(detail.tableFeatures, (std::vector<std::string>{"appendOnly", "invariants"}));
}

// A mapped table with the columns a and s.x, whose files call them c1 and c2.c3.
std::string mappedMetadata() {
  const auto field = [](const char* name, const nlohmann::json& type, int id) {
    return nlohmann::json{
        {"name", name},
        {"type", type},
        {"nullable", true},
        {"metadata",
         {{"delta.columnMapping.id", id}, {"delta.columnMapping.physicalName", "c" + std::to_string(id)}}}};
  };
  const nlohmann::json inner = {{"type", "struct"}, {"fields", {field("x", "long", 3)}}};
  const nlohmann::json schema = {{"type", "struct"},
                                 {"fields", {field("a", "long", 1), field("s", inner, 2)}}};
  const nlohmann::json metadata = {{"id", "m"},
                                   {"schemaString", schema.dump()},
                                   {"partitionColumns", nlohmann::json::array()},
                                   {"configuration", {{"delta.columnMapping.mode", "name"}}}};
  return nlohmann::json{{"metaData", metadata}}.dump() + "\n";
}

std::string clusteringDomain(const std::string& columns) {
  const nlohmann::json domain = {{"domain", "delta.clustering"},
                                 {"configuration", "{\"clusteringColumns\":" + columns + "}"},
                                 {"removed", false}};
  return nlohmann::json{{"domainMetadata", domain}}.dump() + "\n";
}

TEST_F(DeltaLogTest, DetailNamesClusteringColumnsInBothFormsAsTheTableShowsThem) {
  commit(0, 1, mappedMetadata() + clusteringDomain(R"([["c1"],["c2","c3"]])"));
  EXPECT_EQ(describeDetail(*loadSnapshot(table_)).clusteringColumns, (std::vector<std::string>{"a", "s.x"}));
  commit(1, 2, clusteringDomain(R"(["c1"])"));
  EXPECT_EQ(describeDetail(*loadSnapshot(table_)).clusteringColumns, (std::vector<std::string>{"a"}));
}

TEST_F(DeltaLogTest, ClusteringColumnsThatAreGoneAreLeftOut) {
  commit(0, 1, mappedMetadata() + clusteringDomain(R"([["gone"],["c2","gone"],["c1"]])"));
  EXPECT_EQ(clusteringColumns(*loadSnapshot(table_)), (std::vector<std::vector<std::string>>{{"a"}}));
}

TEST_F(DeltaLogTest, RemovedDomainsAreGone) {
  commit(0, 1, "{\"domainMetadata\":{\"domain\":\"d\",\"configuration\":\"c\",\"removed\":false}}\n");
  EXPECT_EQ(loadSnapshot(table_)->domainMetadata().at("d").configuration, "c");
  commit(1, 2, "{\"domainMetadata\":{\"domain\":\"d\",\"configuration\":\"c\",\"removed\":true}}\n");
  EXPECT_TRUE(loadSnapshot(table_)->domainMetadata().empty());
}

TEST_F(DeltaLogTest, ALogWithoutProtocolCannotBeRead) {
  store_->writeAtomically("/t/_delta_log/" + commitFileName(0),
                          "{\"metaData\":{\"id\":\"m\",\"schemaString\":\"\"}}\n");
  EXPECT_EQ(conditionOf([&] { loadSnapshot(table_); }), "DELTA_STATE_RECOVER_ERROR");
}

TEST_F(DeltaLogTest, APartitionColumnThatTheSchemaLacksStopsTheSnapshot) {
  commit(0, 1,
         R"({"metaData":{"id":"m","schemaString":"{\"type\":\"struct\",\"fields\":[]}",)"
         R"("partitionColumns":["gone"],"configuration":{}}})"
         "\n");
  EXPECT_EQ(conditionOf([&] { loadSnapshot(table_); }), "DELTA_STATE_RECOVER_ERROR");
}

TEST_F(DeltaLogTest, AnUnknownReaderFeatureStopsTheSnapshot) {
  commit(0, 1,
         "{\"protocol\":{\"minReaderVersion\":3,\"minWriterVersion\":7,\"readerFeatures\":[\"new\"],"
         "\"writerFeatures\":[]}}\n");
  EXPECT_EQ(conditionOf([&] { loadSnapshot(table_); }), "DELTA_UNSUPPORTED_FEATURES_FOR_READ");
}

}  // namespace
}  // namespace thalweg::delta
