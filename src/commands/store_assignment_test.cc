// How a query's columns become a table's: Spark's and Delta's answers to INSERT.
#include "commands/store_assignment.h"

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "common/testing/condition_of.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

const SchemaPtr kTable = DataType::structOf({{"id", byteType()}, {"p", stringType()}, {"n", intType()}});

SchemaPtr ints(const std::vector<std::string>& names) {
  std::vector<StructField> fields;
  for (const std::string& name : names) fields.push_back({name, intType()});
  return DataType::structOf(std::move(fields));
}

std::string written(const ColumnAssignment& assignment) {
  std::string text;
  for (size_t i = 0; i < assignment.source.size(); ++i)
    text += assignment.written->fields()[i].name + "<-" + std::to_string(assignment.source[i]) + " ";
  return text;
}

TEST(AssignByPosition, wantsAsManyColumns) {
  EXPECT_EQ(written(assignByPosition(*kTable, *ints({"x", "y", "z"}), "t")), "id<-0 p<-1 n<-2 ");
  EXPECT_EQ(conditionOf([] { assignByPosition(*kTable, *ints({"x"}), "t"); }),
            "DELTA_INSERT_COLUMN_ARITY_MISMATCH");
  EXPECT_EQ(conditionOf([] {
              assignByPosition(*kTable, *ints({"a", "b", "c", "d"}), "t");
            }),
            "DELTA_METADATA_MISMATCH");
  EXPECT_EQ(written(assignByPosition(*kTable, *ints({"a", "b", "c", "d"}), "t", /*addsColumns=*/true)),
            "id<-0 p<-1 n<-2 d<-3 ");
}

TEST(AssignByName, ignoresCaseAndLeavesOtherColumnsToTheFormat) {
  EXPECT_EQ(written(assignByName(*kTable, *ints({"N", "extra", "ID"}))), "id<-2 n<-0 extra<-1 ");
}

TEST(AssignToList, isOfTheTablesColumnsOnceEach) {
  EXPECT_EQ(written(assignToList(*kTable, *ints({"x", "y"}), {"N", "id"}, "t")), "n<-0 id<-1 ");
  EXPECT_EQ(conditionOf([] { assignToList(*kTable, *ints({"x"}), {"nope"}, "t"); }),
            "UNRESOLVED_COLUMN.WITH_SUGGESTION");
  EXPECT_EQ(conditionOf([] {
              assignToList(*kTable, *ints({"x", "y"}), {"id", "ID"}, "t");
            }),
            "COLUMN_ALREADY_EXISTS");
  EXPECT_EQ(conditionOf([] {
              assignToList(*kTable, *ints({"x"}), {"id", "p"}, "t");
            }),
            "INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS");
}

// Asked of Spark 4.2 with Delta 4.4: INSERT WITH SCHEMA EVOLUTION into a table with type widening.
TEST(TakeWiderTypes, leavesAllButWiderOnesOfTheSameFamily) {
  const SchemaPtr table = DataType::structOf({{"id", intType()},
                                              {"s", DataType::structOf({{"x", intType()}})},
                                              {"a", DataType::array(intType(), true)},
                                              {"f", floatType()},
                                              {"h", shortType()}});
  const SchemaPtr data = DataType::structOf({{"id", longType()},
                                             {"s", DataType::structOf({{"x", longType()}})},
                                             {"a", DataType::array(longType(), true)},
                                             {"f", intType()},
                                             {"h", doubleType()}});
  ColumnAssignment assignment = assignByPosition(*table, *data, "t");
  takeWiderTypes(*data, &assignment);
  EXPECT_EQ(assignment.written->simpleString(),
            "struct<id:bigint,s:struct<x:bigint>,a:array<bigint>,f:float,h:smallint>");
}

// Keeps the rows that reach the format.
class KeptRows final : public BatchWrite, public TaskWriter {
 public:
  explicit KeptRows(std::vector<std::shared_ptr<arrow::RecordBatch>>* rows) : rows_(rows) {}
  std::unique_ptr<TaskWriter> openTask(int) override { return std::make_unique<KeptRows>(rows_); }
  void commit() override {}
  void abort() noexcept override {}
  void write(const std::shared_ptr<arrow::RecordBatch>& batch) override { rows_->push_back(batch); }
  void close() override {}

 private:
  std::vector<std::shared_ptr<arrow::RecordBatch>>* rows_;
};

std::shared_ptr<arrow::RecordBatch> oneRow(int32_t value) {
  arrow::Int32Builder builder;
  EXPECT_TRUE(builder.Append(value).ok());
  return arrow::RecordBatch::Make(toArrowSchema(*ints({"x"})), 1, {builder.Finish().ValueOrDie()});
}

TEST(StoreAssignment, castsAndSaysWhichColumnIsTooSmall) {
  std::vector<std::shared_ptr<arrow::RecordBatch>> rows;
  const auto write = withStoreAssignment(std::make_unique<KeptRows>(&rows), ints({"x"}),
                                         assignToList(*kTable, *ints({"x"}), {"id"}, "t"), BatchContext{});
  const auto task = write->openTask(0);
  task->write(oneRow(7));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]->column(0)->type()->id(), arrow::Type::INT8);
  try {
    task->write(oneRow(300));
    FAIL() << "300 is no TINYINT";
  } catch (const Error& error) {
    EXPECT_EQ(error.condition(), "CAST_OVERFLOW_IN_TABLE_INSERT");
    EXPECT_EQ(error.parameters().at("columnName"), "`id`");
  }
}

TEST(StoreAssignment, refusesTypesThatCannotBeCastAtOnce) {
  const SchemaPtr data = DataType::structOf({{"x", DataType::array(intType())}});
  EXPECT_EQ(conditionOf([&] {
              withStoreAssignment(nullptr, data, assignToList(*kTable, *data, {"n"}, "t"), BatchContext{});
            }),
            "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION");
}

DataTypePtr pairOf(const char* first, const char* second) {
  return DataType::structOf({{first, intType()}, {second, intType()}});
}

class Rows final : public BatchWrite {
 public:
  class Task final : public TaskWriter {
   public:
    explicit Task(Rows& rows) : rows_(rows) {}
    void write(const std::shared_ptr<arrow::RecordBatch>& batch) override { rows_.last = batch; }
    void close() override {}

   private:
    Rows& rows_;
  };
  explicit Rows(std::shared_ptr<arrow::RecordBatch>& last) : last(last) {}
  std::unique_ptr<TaskWriter> openTask(int) override { return std::make_unique<Task>(*this); }
  void commit() override {}
  void abort() noexcept override {}
  std::shared_ptr<arrow::RecordBatch>& last;
};

// What {1, 2} becomes in a column s STRUCT<a: INT, b: INT>.
std::string stored(const DataTypePtr& given, const ColumnAssignment& assignment) {
  arrow::Int32Builder one, two;
  EXPECT_TRUE(one.Append(1).ok() && two.Append(2).ok());
  const SchemaPtr data = DataType::structOf({{"s", given}});
  const auto column = std::make_shared<arrow::StructArray>(toArrowType(*given), 1,
                                                           arrow::ArrayVector{*one.Finish(), *two.Finish()});
  std::shared_ptr<arrow::RecordBatch> last;
  const auto write = withStoreAssignment(std::make_unique<Rows>(last), data, assignment, BatchContext());
  write->openTask(0)->write(arrow::RecordBatch::Make(toArrowSchema(*data), 1, {column}));
  const auto& pair = static_cast<const arrow::StructArray&>(*last->column(0));
  return (*pair.field(0)->GetScalar(0))->ToString() + "," + (*pair.field(1)->GetScalar(0))->ToString();
}

// Asked of Spark 4.2 with Delta 4.4: INSERT BY NAME, and any INSERT whose columns have the table's names,
// take the fields of a struct by name; others take them as they come.
TEST(StoreAssignment, FieldsInsideGoByNameWhereColumnsDo) {
  const SchemaPtr table = DataType::structOf({{"s", pairOf("a", "b")}});
  const auto data = [](const char* column, const DataTypePtr& type) {
    return DataType::structOf({{column, type}});
  };
  EXPECT_EQ(stored(pairOf("b", "a"), assignByName(*table, *data("s", pairOf("b", "a")))), "2,1");
  EXPECT_EQ(stored(pairOf("b", "a"), assignByPosition(*table, *data("s", pairOf("b", "a")), "t")), "2,1");
  EXPECT_EQ(stored(pairOf("b", "a"), assignByPosition(*table, *data("col1", pairOf("b", "a")), "t")), "1,2");
  EXPECT_EQ(stored(pairOf("x", "y"), assignByPosition(*table, *data("s", pairOf("x", "y")), "t")), "1,2");
  EXPECT_EQ(conditionOf([&] {
              const auto missing = data("s", DataType::structOf({{"a", intType()}}));
              std::shared_ptr<arrow::RecordBatch> last;
              withStoreAssignment(std::make_unique<Rows>(last), missing, assignByName(*table, *missing),
                                  BatchContext());
            }),
            "DELTA_INSERT_COLUMN_ARITY_MISMATCH");
}

}  // namespace
}  // namespace thalweg
