#include "delta/files/row_rules.h"

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "common/testing/condition_of.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"
#include "types/column_metadata.h"
#include "types/schema_json.h"

namespace thalweg::delta {
namespace {

// Knows "twice a", "a is positive" and "seven", which are no SQL: the library does not look into the texts.
class FewWords final : public ExpressionEvaluator {
 public:
  class Word final : public RowExpression {
   public:
    explicit Word(std::string text)
        : text_(std::move(text)), columns_{0}, type_(DataType::primitive(TypeId::Long)) {}
    std::shared_ptr<arrow::Array> evaluate(const arrow::RecordBatch& rows) const override {
      const auto& a = static_cast<const arrow::Int64Array&>(*rows.column(0));
      arrow::Int64Builder numbers;
      arrow::BooleanBuilder flags;
      for (int64_t row = 0; row < rows.num_rows(); ++row) {
        throwIfFailed(numbers.Append(text_ == "seven" ? 7 : 2 * a.Value(row)));
        throwIfFailed(a.IsNull(row) ? flags.AppendNull() : flags.Append(a.Value(row) > 0));
      }
      return text_ == "a is positive" ? valueOrThrow(flags.Finish()) : valueOrThrow(numbers.Finish());
    }
    const std::vector<int>& columns() const override { return columns_; }
    const DataTypePtr& type() const override { return type_; }

   private:
    std::string text_;
    std::vector<int> columns_;
    DataTypePtr type_;
  };

  std::shared_ptr<const RowExpression> compile(const std::string& sql, const SchemaPtr&,
                                               const DataTypePtr&) const override {
    return std::make_shared<Word>(sql);
  }
  std::shared_ptr<RowCondition> condition(const std::string&, const Snapshot&) const override {
    return nullptr;
  }
};

class RowRulesTest : public ::testing::Test {
 protected:
  // a, and b with this metadata.
  void columns(const std::string& metadata, bool nullable = true) {
    schema_ = DataType::structOf({{"a", DataType::primitive(TypeId::Long)},
                                  {"b", DataType::primitive(TypeId::Long), nullable, metadata}});
    metadata_.schemaString = toSchemaJson(*schema_);
  }
  RowRules rules(std::vector<bool> given, const ExpressionEvaluator* evaluator) {
    return RowRules(metadata_, schema_, std::move(given), evaluator);
  }
  std::shared_ptr<arrow::RecordBatch> rows(const std::vector<std::optional<int64_t>>& a) {
    arrow::Int64Builder builder;
    for (const auto& value : a) throwIfFailed(value ? builder.Append(*value) : builder.AppendNull());
    const auto nulls = valueOrThrow(arrow::MakeArrayOfNull(arrow::int64(), static_cast<int64_t>(a.size())));
    return arrow::RecordBatch::Make(toArrowSchema(*schema_), static_cast<int64_t>(a.size()),
                                    arrow::ArrayVector{valueOrThrow(builder.Finish()), nulls});
  }
  static std::vector<int64_t> valuesOf(const arrow::RecordBatch& rows) {
    const auto& b = static_cast<const arrow::Int64Array&>(*rows.column(1));
    return {b.raw_values(), b.raw_values() + b.length()};
  }

  FewWords words_;
  SchemaPtr schema_;
  Metadata metadata_;
};

TEST_F(RowRulesTest, WithoutRulesNoEvaluatorIsNeeded) {
  columns("{}");
  EXPECT_EQ(rules({true, true}, nullptr).apply(rows({1}))->num_rows(), 1);
}

TEST_F(RowRulesTest, RulesInSqlNeedAnEvaluator) {
  columns("{}");
  metadata_.configuration["delta.constraints.positive"] = "a is positive";
  EXPECT_EQ(conditionOf([&] { rules({true, true}, nullptr); }), "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE");
}

TEST_F(RowRulesTest, AConstraintMustBeTrueAndNullIsNot) {
  columns("{}");
  metadata_.configuration["delta.constraints.positive"] = "a is positive";
  const RowRules positive = rules({true, true}, &words_);
  EXPECT_NO_THROW(positive.apply(rows({1, 2})));
  EXPECT_EQ(conditionOf([&] { positive.apply(rows({1, 0})); }), "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES");
  EXPECT_EQ(conditionOf([&] {
              positive.apply(rows({1, std::nullopt}));
            }),
            "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES");
}

TEST_F(RowRulesTest, DefaultsAndGeneratedColumnsFillInWhatIsNotGiven) {
  columns(R"({"CURRENT_DEFAULT":"seven"})");
  EXPECT_EQ(valuesOf(*rules({true, false}, &words_).apply(rows({1, 2}))), (std::vector<int64_t>{7, 7}));
  columns(R"({"delta.generationExpression":"twice a"})");
  EXPECT_EQ(valuesOf(*rules({true, false}, &words_).apply(rows({1, 2}))), (std::vector<int64_t>{2, 4}));
}

TEST_F(RowRulesTest, IdentityValuesGoOnBehindTheMark) {
  columns(
      R"({"delta.identity.start":10,"delta.identity.step":5,"delta.identity.allowExplicitInsert":false})");
  const RowRules fresh = rules({true, false}, nullptr);
  EXPECT_EQ(fresh.schemaAfter(metadata_), std::nullopt);
  EXPECT_EQ(valuesOf(*fresh.apply(rows({1, 1}))), (std::vector<int64_t>{10, 15}));
  EXPECT_EQ(valuesOf(*fresh.apply(rows({1}))), (std::vector<int64_t>{20}));
  const auto schema = fresh.schemaAfter(metadata_);
  ASSERT_TRUE(schema);
  metadata_.schemaString = *schema;
  schema_ = metadata_.schema();
  EXPECT_EQ(valuesOf(*rules({true, false}, nullptr).apply(rows({1}))), (std::vector<int64_t>{25}));
}

TEST_F(RowRulesTest, WhatIsFilledInMayNotBeNullWhereTheColumnMayNot) {
  columns("{}", /*nullable=*/false);
  EXPECT_EQ(conditionOf([&] {
              rules({true, false}, nullptr).apply(rows({1}));
            }),
            "DELTA_NOT_NULL_CONSTRAINT_VIOLATED");
}

StructField identityColumn(int64_t start, int64_t step, std::optional<int64_t> mark) {
  StructField column{"id", DataType::primitive(TypeId::Long)};
  column.metadata = withMetadataKey("{}", kIdentityStart, std::to_string(start));
  column.metadata = withMetadataKey(column.metadata, kIdentityStep, std::to_string(step));
  if (mark) column.metadata = withMetadataKey(column.metadata, kIdentityHighWaterMark, std::to_string(*mark));
  return column;
}

TEST(IdentityMark, IsTheSequencesNextValueFromTheTablesFurthest) {
  using Mark = std::optional<int64_t>;
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  struct {
    int64_t start, step;
    Mark before;
    int64_t value;
    Mark after;
  } const cases[] = {
      {1, 10, {}, 11, 11},    {1, 10, {}, 12, 21},
      {1, 10, 31, 12, {}},    {1, 10, 11, 12, 21},
      {5, 7, {}, 5, 5},       {5, 7, {}, 33, 33},
      {-17, 7, {}, -1, 4},    {100, 10, {}, 5, {}},
      {1, -10, {}, -9, -9},   {1, -10, {}, -12, -19},
      {-5, -3, {}, 7, {}},    {1, -10, -29, -12, {}},
      {100, 10, 5, 3, 10},    {100, 10, 5, 95, 100},
      {1, 1, {}, kMax, kMax}, {kMax - 7, 100, {}, kMax - 7, kMax - 7},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(identityMarkAfter(identityColumn(one.start, one.step, one.before), one.value), one.after)
        << one.start << " by " << one.step << ", " << one.value;
  }
  EXPECT_EQ(conditionOf([] { identityMarkAfter(identityColumn(1, 10, {}), kMax); }), "ARITHMETIC_OVERFLOW");
}

// One column of texts with this metadata.
std::string conditionOfTexts(const std::string& metadata,
                             const std::vector<std::optional<std::string>>& texts) {
  const SchemaPtr schema = DataType::structOf({{"a", stringType(), true, metadata}});
  Metadata table;
  table.schemaString = toSchemaJson(*schema);
  arrow::StringBuilder builder;
  for (const auto& text : texts) throwIfFailed(text ? builder.Append(*text) : builder.AppendNull());
  const auto rows = arrow::RecordBatch::Make(toArrowSchema(*schema), static_cast<int64_t>(texts.size()),
                                             {valueOrThrow(builder.Finish())});
  return conditionOf([&] { RowRules(table, schema, {true}, nullptr).apply(rows); });
}

// A column's metadata that declares a type.
std::string declared(const std::string& type) {
  return "{\"__CHAR_VARCHAR_TYPE_STRING\":\"" + type + "\"}";
}

// Spark 4.2 with Delta 4.4: trailing spaces count, CHAR is checked like VARCHAR, and no SQL is needed for it.
TEST(RowRulesLengths, ATextMustNotBeLongerThanDeclared) {
  const std::string three = declared("varchar(3)");
  EXPECT_EQ(conditionOfTexts(three, {"abc", "", std::nullopt, "\xC3\xA9\xC3\xA9\xC3\xA9"}), "none");
  EXPECT_EQ(conditionOfTexts(three, {"a", "abcd"}), "DELTA_EXCEED_CHAR_VARCHAR_LIMIT");
  EXPECT_EQ(conditionOfTexts(three, {"abc   "}), "DELTA_EXCEED_CHAR_VARCHAR_LIMIT");
  EXPECT_EQ(conditionOfTexts(declared("char(5)"), {"xyzxyz"}), "DELTA_EXCEED_CHAR_VARCHAR_LIMIT");
  EXPECT_EQ(conditionOfTexts(declared("char(5)"), {"xy"}), "none");
}

TEST(RowRulesLengths, LengthsThatCannotBeReadEndTheWrite) {
  EXPECT_EQ(conditionOfTexts(declared("array<varchar(3)>>"), {"a"}), "UNSUPPORTED_FEATURE.THALWEG");
}

TEST(RowRulesLengths, TextsInsideOtherValuesAreCheckedToo) {
  const SchemaPtr schema =
      DataType::structOf({{"l", DataType::array(stringType()), true, declared("array<varchar(2)>")}});
  Metadata table;
  table.schemaString = toSchemaJson(*schema);
  const RowRules rules(table, schema, {true}, nullptr);
  const auto rowsOf = [&](const std::vector<std::string>& texts) {
    arrow::ListBuilder builder(arrow::default_memory_pool(), std::make_shared<arrow::StringBuilder>());
    throwIfFailed(builder.AppendNull());
    throwIfFailed(builder.Append());
    for (const std::string& text : texts)
      throwIfFailed(static_cast<arrow::StringBuilder*>(builder.value_builder())->Append(text));
    return arrow::RecordBatch::Make(toArrowSchema(*schema), 2, {valueOrThrow(builder.Finish())});
  };
  EXPECT_EQ(conditionOf([&] { rules.apply(rowsOf({"a", "ab"})); }), "none");
  EXPECT_EQ(conditionOf([&] { rules.apply(rowsOf({"a", "ab  "})); }), "DELTA_EXCEED_CHAR_VARCHAR_LIMIT");
}

}  // namespace
}  // namespace thalweg::delta
