#include "expr/cast/nested_names.h"

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "common/testing/condition_of.h"
#include "expr/nodes.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"
#include "types/ddl.h"

namespace thalweg {
namespace {

DataTypePtr typeOf(const std::string& ddl) {
  return parseSchemaDdl("v " + ddl)->fields()[0].type;
}

template <typename Builder, typename Value>
std::shared_ptr<arrow::Array> arrayOf(const std::vector<Value>& values) {
  Builder builder;
  throwIfFailed(builder.AppendValues(values));
  return valueOrThrow(builder.Finish());
}

// Structs <b: STRING, a: INT>: (x, 1), null, (z, 3).
std::shared_ptr<arrow::Array> structs() {
  const auto validity = valueOrThrow(arrow::AllocateBitmap(3));
  validity->mutable_data()[0] = 0b101;
  return valueOrThrow(arrow::StructArray::Make({arrayOf<arrow::StringBuilder, std::string>({"x", "y", "z"}),
                                                arrayOf<arrow::Int32Builder, int32_t>({1, 2, 3})},
                                               std::vector<std::string>{"b", "a"}, validity, 1));
}

std::shared_ptr<arrow::Array> evaluated(const ExpressionPtr& expression,
                                        const std::shared_ptr<arrow::Array>& column) {
  const auto batch = arrow::RecordBatch::Make(arrow::schema({arrow::field("v", column->type())}),
                                              column->length(), {column});
  const BatchContext context;
  return evaluateToArray(*expression, *batch, Selection::all(column->length()), EvaluationContext{&context});
}

ExpressionPtr column(const DataTypePtr& type) {
  return std::make_shared<BoundReference>(0, type, true, "v");
}

TEST(FieldsByName, StandWhereTheTargetHasThem) {
  const auto from = typeOf("STRUCT<b: STRING, a: INT>");
  const ExpressionPtr placed = fieldsByName(column(from), typeOf("STRUCT<A: BIGINT, b: STRING>"));
  EXPECT_EQ(placed->type()->simpleString(), "struct<A:int,b:string>") << "types are the cast's business";
  const auto values = evaluated(placed, structs());
  EXPECT_EQ((*values->GetScalar(0))->ToString(), "{A:int32 = 1, b:string = x}");
  EXPECT_FALSE((*values->GetScalar(1))->is_valid);
  EXPECT_EQ((*values->GetScalar(2))->ToString(), "{A:int32 = 3, b:string = z}");
  const auto sliced = evaluated(placed, structs()->Slice(2));
  EXPECT_EQ((*sliced->GetScalar(0))->ToString(), "{A:int32 = 3, b:string = z}");
}

TEST(FieldsByName, StandSoInTheElementsOfArraysToo) {
  const auto from = typeOf("ARRAY<STRUCT<b: STRING, a: INT>>");
  const auto lists = valueOrThrow(arrow::ListArray::FromArrays(
      toArrowType(*from), *arrayOf<arrow::Int32Builder, int32_t>({0, 3}), *structs()));
  const auto values =
      evaluated(fieldsByName(column(from), typeOf("ARRAY<STRUCT<a: INT, b: STRING>>")), lists);
  const auto& elements = *static_cast<const arrow::ListArray&>(*values).values();
  EXPECT_EQ((*elements.GetScalar(0))->ToString(), "{a:int32 = 1, b:string = x}");
  EXPECT_FALSE((*elements.GetScalar(1))->is_valid);
}

TEST(FieldsByName, MustBeThoseOfTheTarget) {
  const auto assign = [](const char* from, const char* to) {
    return conditionOf([&] { fieldsByName(column(typeOf(from)), typeOf(to)); });
  };
  constexpr auto kMismatch = "DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION";
  EXPECT_EQ(assign("STRUCT<a: INT>", "STRUCT<a: INT, b: STRING>"), kMismatch);
  EXPECT_EQ(assign("STRUCT<a: INT, z: INT>", "STRUCT<a: INT, b: STRING>"), kMismatch);
  EXPECT_EQ(assign("STRUCT<a: INT, b: STRING, z: INT>", "STRUCT<a: INT, b: STRING>"), kMismatch);
  EXPECT_EQ(assign("STRUCT<s: STRUCT<x: INT>>", "STRUCT<s: STRUCT<y: INT>>"), kMismatch);
  EXPECT_EQ(assign("ARRAY<STRUCT<x: INT>>", "ARRAY<STRUCT<y: INT>>"), kMismatch);
  EXPECT_EQ(assign("INT", "STRUCT<a: INT>"), "none") << "the cast refuses it";
}

}  // namespace
}  // namespace thalweg
