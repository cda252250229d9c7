#include "sources/files/glob.h"

#include "sources/files/file_listing.h"
#include "sources/files/files_test_support.h"
#include "sources/files/partition_columns.h"
#include "sources/files/seen_files.h"
#include "storage/fault_file_system.h"

namespace thalweg {
namespace {

// Examples of Hadoop's FileSystem.globStatus documentation.
TEST(Glob, MatchesAsHadoop) {
  EXPECT_TRUE(GlobPattern("*.json").matches("a.json"));
  EXPECT_FALSE(GlobPattern("*.json").matches("a.jsonl"));
  EXPECT_TRUE(GlobPattern("a?c").matches("abc"));
  EXPECT_TRUE(
      GlobPattern("a?c").matches("a\xc3\xa9"
                                 "c"));
  EXPECT_FALSE(GlobPattern("a?c").matches("ac"));
  EXPECT_TRUE(GlobPattern("[a-c]x").matches("bx"));
  EXPECT_FALSE(GlobPattern("[^a-c]x").matches("bx"));
  EXPECT_TRUE(GlobPattern("{ab,c{de,fh}}").matches("cfh"));
  EXPECT_FALSE(GlobPattern("{ab,c{de,fh}}").matches("c"));
  EXPECT_TRUE(GlobPattern("\\*").matches("*"));
  EXPECT_FALSE(GlobPattern("\\*").matches("a"));
  EXPECT_TRUE(GlobPattern("*a*b*").matches("xxaxxaxb"));
  EXPECT_EQ(conditionOf([] { GlobPattern("{a"); }), "INVALID_OPTION");
  EXPECT_EQ(conditionOf([] { GlobPattern("[a"); }), "INVALID_OPTION");
  // Two to the 40th alternatives.
  std::string bomb;
  for (int i = 0; i < 40; ++i) bomb += "{a,b}";
  EXPECT_EQ(conditionOf([&] { GlobPattern{bomb}; }), "INVALID_OPTION");
}

class ListingTest : public testing::Test {
 protected:
  std::vector<std::string> names(const std::string& below, Options options = {}) {
    const auto parsed = FileListOptions::parse(options, "UTC");
    const FileRoot root = FileRoot::make(registry_.resolve(folder_.path() + below), parsed, registry_);
    std::vector<std::string> names;
    for (const ListedFile& file : listFiles(root, parsed, nullptr))
      names.push_back(file.path.substr(folder_.path().size() + 1));
    return names;
  }
  using Names = std::vector<std::string>;
  TemporaryFolder folder_;
  FileSystemRegistry registry_;
};

TEST_F(ListingTest, OnlyVisibleFilesDirectlyInTheFolder) {
  for (const char* name :
       {"a.json", "b.txt", "_SUCCESS", ".hidden", "c.json._COPYING_", "sub/d.json", "_sub/e.json"})
    folder_.write(name, "{}");
  EXPECT_EQ(names(""), (Names{"a.json", "b.txt"}));
  EXPECT_EQ(names("", {{"recursiveFileLookup", "true"}}), (Names{"a.json", "b.txt", "sub/d.json"}));
  EXPECT_EQ(names("", {{"pathGlobFilter", "*.json"}}), (Names{"a.json"}));
  EXPECT_EQ(names("/{a,b}.*"), (Names{"a.json", "b.txt"}));
  EXPECT_EQ(names("/*"), (Names{"a.json", "b.txt", "sub/d.json"}));
  EXPECT_EQ(names("/a.json"), (Names{"a.json"}));
  EXPECT_EQ(names("/none"), Names{});
}

TEST_F(ListingTest, PartitionFoldersAreEntered) {
  for (const char* name : {"k=1/a.json", "_k=2/b.json", "k=3/.c.json"}) folder_.write(name, "{}");
  EXPECT_EQ(names(""), (Names{"_k=2/b.json", "k=1/a.json"}));
}

TEST_F(ListingTest, ModificationTimes) {
  folder_.write("a", "x", 1'000'000'000);
  folder_.write("b", "x", 1'500'000'000);
  EXPECT_EQ(names("", {{"modifiedBefore", "2010-01-01T00:00:00"}}), Names{"a"});
  EXPECT_EQ(names("", {{"modifiedAfter", "2010-01-01T00:00:00"}}), Names{"b"});
  EXPECT_EQ(conditionOf([&] { names("", {{"modifiedAfter", "soon"}}); }), "INVALID_OPTION");
}

TEST_F(ListingTest, AFolderThatCannotBeReadIsAnError) {
  folder_.write("a", "x");
  auto faults = std::make_shared<FaultFileSystem>(makeLocalFileSystem());
  faults->inject({FileOperation::List, 1, EACCES, 1, false});
  FileRoot root;
  root.location = {faults, folder_.path()};
  root.basePath = folder_.path();
  EXPECT_EQ(conditionOf([&] { listFiles(root, {}, nullptr); }), "STORAGE_FAILURE");
}

// What a killed attempt left behind lies beside what counts.
TEST_F(ListingTest, OfTheOutputOfAFileSinkTheLoggedFilesCount) {
  folder_.write("k=1/a", "ab");
  folder_.write("k=1/orphan", "");
  folder_.write("k=2/b", "");
  const auto line = [&](const std::string& name) {
    return "\n{\"path\":\"file://" + folder_.path(name) +
           "\",\"size\":7,\"isDir\":false,\"modificationTime\":5,\"action\":\"add\"}";
  };
  folder_.write("_spark_metadata/0", "v1" + line("k=1/a"));
  folder_.write("_spark_metadata/1", "v1");
  folder_.write("_spark_metadata/2", "v1" + line("k=2/b"));
  EXPECT_EQ(names(""), (std::vector<std::string>{"k=1/a", "k=2/b"}));
  folder_.write("_spark_metadata/3",
                "v1\n{\"path\":\"s3://b/x\",\"size\":7,\"modificationTime\":5,\"action\":\"add\"}");
  EXPECT_EQ(conditionOf([&] { names(""); }), "STREAMING_CHECKPOINT_LOG_CORRUPT");
}

TEST_F(ListingTest, TenThousandFiles) {
  for (int i = 0; i < 10'000; ++i) folder_.write("f" + std::to_string(i), "");
  EXPECT_EQ(names("").size(), 10'000U);
}

std::string inferred(const std::vector<std::vector<std::string>>& folders, SchemaPtr user = nullptr,
                     FolderRules rules = {}) {
  PartitionInference inference(std::move(user), std::move(rules));
  for (const auto& folder : folders) inference.add(folder);
  return DataType::structOf(inference.columns())->simpleString();
}

// Spark's partition discovery: types and their widening.
TEST(PartitionColumns, TypesAreInferredAsSpark) {
  EXPECT_EQ(inferred({{"a=1", "b=x"}}), "struct<a:int,b:string>");
  EXPECT_EQ(inferred({{"a=3000000000"}}), "struct<a:bigint>");
  EXPECT_EQ(inferred({{"a=1.5"}}), "struct<a:double>");
  EXPECT_EQ(inferred({{"a=2024-01-02"}}), "struct<a:date>");
  EXPECT_EQ(inferred({{"a=2024-01-02 03%3A04%3A05"}}), "struct<a:timestamp>");
  EXPECT_EQ(inferred({{"a=1"}, {"a=3000000000"}}), "struct<a:bigint>");
  EXPECT_EQ(inferred({{"a=1"}, {"a=x"}}), "struct<a:string>");
  EXPECT_EQ(inferred({{"a=1"}, {"a=__HIVE_DEFAULT_PARTITION__"}}), "struct<a:int>");
  // Spark 4.2.
  EXPECT_EQ(inferred({{"a=__HIVE_DEFAULT_PARTITION__"}}), "struct<a:void>");
  EXPECT_EQ(inferred({{"a=1"}}, DataType::structOf({{"A", stringType()}})), "struct<A:string>");
  EXPECT_EQ(inferred({{}}), "struct<>");
  EXPECT_EQ(conditionOf([] { inferred({{"a=1"}, {"b=1"}}); }), "CONFLICTING_PARTITION_COLUMN_NAMES");
  EXPECT_EQ(conditionOf([] { inferred({{"a="}}); }), "EMPTY_PARTITION_COLUMN_VALUE");
  EXPECT_EQ(conditionOf([] { inferred({{"a=1", "b="}}); }), "EMPTY_PARTITION_COLUMN_VALUE");
  EXPECT_EQ(conditionOf([] { inferred({{"=1"}}); }), "EMPTY_PARTITION_COLUMN_NAME");
}

// Each of Spark 4.2: read.parquet() over the folders v=….
TEST(PartitionColumns, ValuesAreReadByJavasGrammars) {
  const auto typeOf = [](const std::vector<std::string>& values) {
    std::vector<std::vector<std::string>> folders;
    for (const std::string& value : values) folders.push_back({"v=" + value});
    const std::string schema = inferred(folders);
    return schema.substr(9, schema.size() - 10);  // struct<v:…>
  };
  for (const char* value : {"007", "-0", "+1", "00000000000000000001"})
    EXPECT_EQ(typeOf({value}), "int") << value;
  EXPECT_EQ(typeOf({"+12345678901"}), "bigint");
  EXPECT_EQ(typeOf({"1e5"}), "decimal(6,0)");
  EXPECT_EQ(typeOf({"1e5", "2"}), "decimal(10,0)");
  EXPECT_EQ(typeOf({"5."}), "decimal(1,0)");
  EXPECT_EQ(typeOf({"1E+3"}), "decimal(4,0)");
  EXPECT_EQ(typeOf({"-1e3"}), "decimal(4,0)");
  EXPECT_EQ(typeOf({"0e10"}), "decimal(11,0)");
  EXPECT_EQ(typeOf({"1e37"}), "decimal(38,0)");
  EXPECT_EQ(typeOf({std::string(38, '9')}), "decimal(38,0)");
  EXPECT_EQ(typeOf({"12345678901", std::string(25, '9')}), "decimal(25,0)");
  for (const char* value : {"1e38", "1e1000", "10e-1", "15e-1", "0e-1", ".5", "1.0", "1d", "1.5f", "1D",
                            "1e5F", " 1", "1 ", "NaN", " NaN", "Infinity", "+Infinity", "0x1p3", "1e-5"}) {
    EXPECT_EQ(typeOf({value}), "double") << value;
  }
  EXPECT_EQ(typeOf({std::string(39, '9')}), "double");
  for (const auto& values :
       std::vector<std::vector<std::string>>{{"1.0f", "2"}, {"1d", "2"}, {" 1", "2"}, {"1", "1.5"}})
    EXPECT_EQ(typeOf(values), "double") << values[0];
  for (const char* value : {"nan",
                            "inf",
                            "0x10",
                            "1L",
                            "1,5",
                            "1e",
                            "3_0",
                            "1+1",
                            "1e5a",
                            "true",
                            "%31",
                            "%091",
                            "2020-1-1",
                            "2020-01",
                            " 2020-01-01",
                            "12020-01-01",
                            "2021-02-30",
                            "2020-01-01T",
                            "2020-01-01 01%3A02",
                            "2020-01-01T01%3A02%3A03",
                            "2020-01-01 01%3A02%3A03Z",
                            "2020-01-01 01%3A02%3A03.",
                            "2020-01-01 01%3A02%3A03.12",
                            "2020-01-01 01%3A02%3A03+02%3A00"}) {
    EXPECT_EQ(typeOf({value}), "string") << value;
  }
  for (const auto& values : std::vector<std::vector<std::string>>{
           {"12345678901", "1.5"}, {std::string(25, '9'), "1.5"}, {"1e5", "x"}, {"1", "2020-01-01"}})
    EXPECT_EQ(typeOf(values), "string") << values[0];
  EXPECT_EQ(typeOf({"2020-01-01 01:02:03"}), "timestamp");
  EXPECT_EQ(typeOf({"2020-01-01 01%3A02%3A03.1"}), "timestamp");
  EXPECT_EQ(typeOf({"2020-01-01", "2020-01-01 00%3A00%3A00"}), "timestamp");
  FolderRules untyped;
  untyped.inferTypes = false;
  EXPECT_EQ(inferred({{"a=1", "B=x"}}, DataType::structOf({{"b", dateType()}}), untyped),
            "struct<a:string,b:date>");
}

TEST(PartitionColumns, NamesAreOneWhereCaseDoesNotCount) {
  EXPECT_EQ(inferred({{"P=1", "q=2"}, {"p=2", "Q=3"}}), "struct<P:int,q:int>");
  FolderRules exact;
  exact.caseSensitive = true;
  EXPECT_EQ(conditionOf([&] {
              inferred({{"P=1"}, {"p=2"}}, nullptr, exact);
            }),
            "CONFLICTING_PARTITION_COLUMN_NAMES");
  EXPECT_EQ(inferred({{"p=1"}}, DataType::structOf({{"P", stringType()}}), exact), "struct<p:int>");
}

// As Spark answered for a folder k=1 and a schema with k boolean.
TEST(PartitionColumns, AValueThatDoesNotFitIsAnError) {
  EXPECT_EQ(conditionOf([] {
              partitionScalar({"k", "1"}, *booleanType(), TimeZone());
            }),
            "INVALID_PARTITION_VALUE");
  // Spark 4.2.
  const std::vector<std::pair<std::string, DataTypePtr>> misfits = {
      {" 1", intType()},     {"1.0f", intType()},    {"1e5", intType()},
      {"%31", intType()},    {" 1", longType()},     {" 1", DataType::decimal(10, 0)},
      {"nan", doubleType()}, {"yes", booleanType()}, {"t", booleanType()}};
  for (const auto& [text, type] : misfits) {
    EXPECT_EQ(conditionOf([&] {
                partitionScalar({"k", text}, *type, TimeZone());
              }),
              "INVALID_PARTITION_VALUE")
        << text << " " << type->simpleString();
  }
  const auto shown = [](const std::string& text, const DataTypePtr& type) {
    return partitionScalar({"k", text}, *type, TimeZone())->ToString();
  };
  EXPECT_EQ(shown("TRUE", booleanType()), "true");
  EXPECT_EQ(shown(" 1", doubleType()), "1");
  EXPECT_EQ(shown("0x1p3", doubleType()), "8");
  EXPECT_EQ(shown("1d", floatType()), "1");
  EXPECT_EQ(shown("1e5", DataType::decimal(10, 0)), "100000");
  EXPECT_EQ(shown(" 2020-1-1", dateType()), "2020-01-01");
  EXPECT_EQ(shown("%31", stringType()), "1");
  EXPECT_EQ(partitionScalar({"k", "7"}, *longType(), TimeZone())->ToString(), "7");
  EXPECT_FALSE(partitionScalar({"k", std::nullopt}, *longType(), TimeZone())->is_valid);
}

TEST(SeenFiles, ForgetsWhatIsTooOldAndNeverTakesItAgain) {
  SeenFiles seen(1000, false);
  seen.add("file:///a", 5000);
  EXPECT_FALSE(seen.isNew("file:///a", 5000));
  EXPECT_TRUE(seen.isNew("file:///b", 5000));
  seen.add("file:///c", 7000);
  seen.purge();
  EXPECT_EQ(seen.size(), 1U);
  EXPECT_FALSE(seen.isNew("file:///a", 5000));
  EXPECT_FALSE(seen.isNew("file:///late", 5999));
  EXPECT_TRUE(seen.isNew("file:///late", 6000));
}

TEST(SeenFiles, NameOnlyAndMany) {
  SeenFiles seen(INT64_MAX, true);
  for (int i = 0; i < 50'000; ++i) seen.add("file:///x/" + std::to_string(i), i);
  seen.purge();
  EXPECT_EQ(seen.size(), 50'000U);
  EXPECT_FALSE(seen.isNew("file:///y/49999", 1));
  EXPECT_TRUE(seen.isNew("file:///x/50000", 1));
}

}  // namespace
}  // namespace thalweg
