// Which schemas can be read together, by Delta's rules for streams and change feeds.
#include <gtest/gtest.h>

#include "common/error.h"
#include "delta/changes/schema_changes.h"
#include "delta/snapshot/type_widening.h"
#include "types/ddl.h"

namespace thalweg::delta {
namespace {

SchemaPtr columns(std::vector<StructField> fields) {
  return DataType::structOf(std::move(fields));
}

TEST(SchemaChanges, AReaderMayHaveMoreColumnsAndAllowMoreNulls) {
  const auto id = columns({{"id", longType(), false}});
  const auto nullable = columns({{"id", longType(), true}});
  const auto wider = columns({{"id", longType(), true}, {"x", stringType(), true}});
  EXPECT_TRUE(isReadCompatible(*id, *nullable));
  EXPECT_FALSE(isReadCompatible(*nullable, *id)) << "nulls that the reader does not expect";
  EXPECT_TRUE(isReadCompatible(*id, *wider));
  EXPECT_FALSE(isReadCompatible(*wider, *id)) << "a column that the reader would lose";
  EXPECT_FALSE(isReadCompatible(*columns({{"ID", longType(), true}}), *nullable)) << "another spelling";
  EXPECT_FALSE(isReadCompatible(*columns({{"id", intType(), true}}), *nullable));
}

TEST(SchemaChanges, NestedColumnsCountLikeOthers) {
  const auto before = columns({{"s", DataType::structOf({{"a", intType(), true}}), true}});
  const auto after =
      columns({{"s", DataType::structOf({{"a", intType(), true}, {"b", intType(), true}}), true}});
  EXPECT_TRUE(isReadCompatible(*before, *after));
  EXPECT_FALSE(isReadCompatible(*after, *before));
  const auto noNulls = columns({{"l", DataType::array(intType(), false), true}});
  const auto nulls = columns({{"l", DataType::array(intType(), true), true}});
  EXPECT_TRUE(isReadCompatible(*noNulls, *nulls));
  EXPECT_FALSE(isReadCompatible(*nulls, *noNulls));
}

TEST(SchemaChanges, WiderTypesAndMissingColumnsFitWhereTheyMay) {
  const auto narrow = columns({{"id", intType(), true}, {"l", DataType::array(intType(), true), true}});
  const auto wide = columns({{"id", longType(), true}, {"l", DataType::array(longType(), true), true}});
  EXPECT_FALSE(isReadCompatible(*narrow, *wide));
  EXPECT_TRUE(isReadCompatible(*narrow, *wide, {.allowWidenedTypes = true}));
  EXPECT_FALSE(isReadCompatible(*wide, *narrow, {.allowWidenedTypes = true}));
  const auto id = columns({{"id", intType(), true}});
  EXPECT_FALSE(isReadCompatible(*narrow, *id));
  EXPECT_TRUE(isReadCompatible(*narrow, *id, {.allowMissingColumns = true}));
}

Metadata mapped(const std::string& name, const std::string& stored, const std::string& mode = "name") {
  Metadata metadata;
  metadata.schemaString =
      R"({"type":"struct","fields":[{"name":")" + name +
      R"(","type":"long","nullable":true,"metadata":{"delta.columnMapping.id":1,"delta.columnMapping.physicalName":")" +
      stored + R"("}}]})";
  if (mode != "none") metadata.configuration = {{"delta.columnMapping.mode", mode}};
  return metadata;
}

TEST(SchemaChanges, RenamesAndDropsShowInPhysicalNames) {
  EXPECT_FALSE(renamesOrDropsColumns(mapped("a", "c1"), mapped("a", "c1")));
  EXPECT_TRUE(renamesOrDropsColumns(mapped("a", "c1"), mapped("b", "c1"))) << "renamed";
  EXPECT_TRUE(renamesOrDropsColumns(mapped("a", "c1"), mapped("a", "c2")))
      << "dropped, and another one added";
  EXPECT_TRUE(renamesOrDropsColumns(mapped("a", "c1"), mapped("a", "c1", "none"))) << "mapping taken away";
  EXPECT_FALSE(renamesOrDropsColumns(mapped("a", "a", "none"), mapped("a", "a"))) << "mapping switched on";
}

// The protocol's table of type widening.
TEST(TypeWidening, AllowsWhatFilesCanBeReadAs) {
  const auto allowed = [](const DataTypePtr& from, const DataTypePtr& to) {
    return isSupportedTypeChange(*from, *to);
  };
  EXPECT_TRUE(allowed(byteType(), longType()));
  EXPECT_FALSE(allowed(longType(), intType()));
  EXPECT_TRUE(allowed(intType(), doubleType()));
  EXPECT_FALSE(allowed(longType(), doubleType()));
  EXPECT_TRUE(allowed(floatType(), doubleType()));
  EXPECT_TRUE(allowed(dateType(), timestampNtzType()));
  EXPECT_FALSE(allowed(dateType(), timestampType()));
  EXPECT_TRUE(allowed(DataType::decimal(10, 2), DataType::decimal(20, 5)));
  EXPECT_FALSE(allowed(DataType::decimal(10, 2), DataType::decimal(10, 3)));
  EXPECT_TRUE(allowed(byteType(), DataType::decimal(11, 1)));
  EXPECT_FALSE(allowed(byteType(), DataType::decimal(4, 1))) << "the file has 32 bits";
  EXPECT_FALSE(allowed(longType(), DataType::decimal(19, 0)));
}

}  // namespace
}  // namespace thalweg::delta
