// Which version of a table a batch is bound to.
#include "streaming/batch/static_tables.h"

#include <gtest/gtest.h>

#include "common/error.h"

namespace thalweg {
namespace {

// A table of which newer versions may be made.
class VersionedTable final : public Table {
 public:
  explicit VersionedTable(SchemaPtr schema) : schema_(std::move(schema)) {}
  const SchemaPtr& schema() const override { return schema_; }
  std::vector<SplitPtr> planScan(const std::vector<ColumnPredicate>&) const override { return {}; }
  std::shared_ptr<Table> latest() const override { return next_; }
  std::string description() const override { return "dimension"; }
  std::shared_ptr<VersionedTable> change(SchemaPtr schema) {
    next_ = std::make_shared<VersionedTable>(std::move(schema));
    return next_;
  }

 private:
  SchemaPtr schema_;
  std::shared_ptr<VersionedTable> next_;
};

const SchemaPtr& twoColumns() {
  static const SchemaPtr schema = DataType::structOf({{"k", stringType()}, {"v", longType()}});
  return schema;
}

class StaticTablesTest : public testing::Test {
 protected:
  std::shared_ptr<Table> bound() {
    Execution execution;
    tables_.bind(&execution);
    const auto it = execution.newerTables.find(table_.get());
    return it == execution.newerTables.end() ? table_ : it->second;
  }

  std::shared_ptr<VersionedTable> table_ = std::make_shared<VersionedTable>(twoColumns());
  StaticTables tables_{LogicalTableScan(table_, {0, 1}, attributesOf(*twoColumns()))};
};

TEST_F(StaticTablesTest, EachBatchSeesTheNewestVersion) {
  EXPECT_EQ(bound(), table_);
  const auto second = table_->change(twoColumns());
  EXPECT_EQ(bound(), second);
  EXPECT_EQ(bound(), second);
  const auto third = second->change(twoColumns());
  EXPECT_EQ(bound(), third);
}

TEST_F(StaticTablesTest, AddedColumnsDoNoHarm) {
  const auto wider =
      table_->change(DataType::structOf({{"k", stringType()}, {"v", longType()}, {"w", intType()}}));
  EXPECT_EQ(bound(), wider);
}

TEST_F(StaticTablesTest, ChangedColumnsEndTheQuery) {
  for (const SchemaPtr& schema : {DataType::structOf({{"k", stringType()}}),
                                  DataType::structOf({{"k", stringType()}, {"v", stringType()}}),
                                  DataType::structOf({{"v", longType()}, {"k", stringType()}})}) {
    table_->change(schema);
    try {
      bound();
      FAIL() << schema->simpleString();
    } catch (const Error& error) {
      EXPECT_EQ(error.condition(), "DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS");
    }
  }
}

}  // namespace
}  // namespace thalweg
