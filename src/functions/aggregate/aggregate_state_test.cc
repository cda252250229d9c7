// What Spark 4.2 keeps between batches for each aggregate function, recorded from its state store, and its
// results: over rows (i, l, d, s, b, x) = (3, 3, 1.5, a, true, 1.25), (5, 5, 2.5, b, false, 2.50), (5,
// 7, 4.5, c, true, 2.75) and nulls.
#include <cmath>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "expr/aggregate.h"
#include "expr/cast/cast.h"
#include "expr/cast/value_text.h"
#include "functions/registry.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

using Arrays = std::vector<std::shared_ptr<arrow::Array>>;

std::shared_ptr<arrow::Array> column(const std::vector<const char*>& texts, const DataTypePtr& type) {
  arrow::StringBuilder builder;
  for (const char* text : texts) throwIfFailed(text ? builder.Append(text) : builder.AppendNull());
  const BatchContext batch;
  return castArray(valueOrThrow(builder.Finish()), *stringType(), *type, CastMode::Ansi,
                   EvaluationContext{&batch});
}

// The rows that Spark was given.
struct Rows {
  std::vector<StructField> fields;
  Arrays columns;
  void add(const char* name, const DataTypePtr& type, const std::vector<const char*>& texts) {
    fields.push_back({name, type});
    columns.push_back(column(texts, type));
  }
};

const Rows& rows() {
  static const Rows made = [] {
    Rows rows;
    rows.add("i", intType(), {"3", "5", "5", nullptr});
    rows.add("l", longType(), {"3", "5", "7", nullptr});
    rows.add("d", doubleType(), {"1.5", "2.5", "4.5", nullptr});
    rows.add("s", stringType(), {"a", "b", "c", nullptr});
    rows.add("b", booleanType(), {"true", "false", "true", nullptr});
    for (const int precision : {8, 9, 10, 11, 12, 20, 38})
      rows.add(("d" + std::to_string(precision)).c_str(), DataType::decimal(precision, 2),
               {"1.25", "2.50", "2.75", nullptr});
    return rows;
  }();
  return made;
}

std::shared_ptr<arrow::RecordBatch> batchOf(const Rows& rows) {
  return arrow::RecordBatch::Make(toArrowSchema(*DataType::structOf(rows.fields)), 4, rows.columns);
}

// "name(a, b)" over the rows' columns; what is no column is a constant.
ExpressionPtr parseArgument(std::string text) {
  for (size_t i = 0; i < rows().fields.size(); ++i) {
    if (rows().fields[i].name == text)
      return std::make_shared<BoundReference>(static_cast<int>(i), rows().fields[i].type, true, text);
  }
  if (text == "array(0.25, 0.75)")
    return resolveFunction({"array", {Literal::of(0.25), Literal::of(0.75)}}, FunctionContext());
  if (text.front() == '\'') return Literal::of(text.substr(1, text.size() - 2));
  return Literal::of(std::stod(text));
}

std::shared_ptr<const AggregateCall> parseCall(const std::string& text) {
  const size_t open = text.find('(');
  FunctionCall call{std::string_view(text).substr(0, open), {}};
  std::string argument;
  int depth = 0;
  bool quoted = false;
  for (const char c : text.substr(open + 1)) {
    if (c == '\'') quoted = !quoted;
    if (!quoted && depth == 0 && (c == ',' || c == ')')) {
      call.arguments.push_back(parseArgument(argument.substr(argument.find_first_not_of(' '))));
      argument.clear();
      continue;
    }
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    argument += c;
  }
  return std::static_pointer_cast<const AggregateCall>(resolveFunction(call, FunctionContext()));
}

std::string textOf(const DataType& type, const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) return "NULL";
  if (type.id() == TypeId::Binary) {
    std::string hex;
    for (const char c : static_cast<const arrow::BinaryArray&>(array).GetView(row)) {
      constexpr const char* kDigits = "0123456789abcdef";
      hex += kDigits[static_cast<uint8_t>(c) >> 4];
      hex += kDigits[static_cast<uint8_t>(c) & 15];
    }
    return hex;
  }
  std::string text;
  ValueText(type, TimeZone()).append(array, row, &text);
  return text;
}

struct Case {
  const char *call, *fields, *saved, *result;
};
void PrintTo(const Case& value, std::ostream* out) {
  *out << value.call;
}

class AggregateState : public testing::TestWithParam<Case> {
 protected:
  static constexpr uint32_t kGroup = 1;  // group 0 stays empty
  static std::unique_ptr<Aggregator> updated(const AggregateCall& call, const Selection& selection) {
    auto aggregator = call.spec().make();
    aggregator->resize(2);
    const BatchContext batch;
    Arrays arguments;
    for (const ExpressionPtr& argument : call.arguments())
      arguments.push_back(evaluateToArray(*argument, *batchOf(rows()), selection, EvaluationContext{&batch}));
    aggregator->update(std::vector<uint32_t>(4, kGroup), arguments, selection);
    return aggregator;
  }
  static std::string result(const AggregateCall& call, const Aggregator& aggregator) {
    const std::vector<uint32_t> groups = {kGroup};
    return textOf(*call.type(), *aggregator.finish(groups, arrow::default_memory_pool()), 0);
  }
  // Parts that are merged may round otherwise than rows that are added.
  static void expectResult(const AggregateCall& call, const Aggregator& aggregator) {
    const std::string text = result(call, aggregator);
    if (call.type()->id() == TypeId::Double)
      EXPECT_NEAR(std::stod(text), std::stod(GetParam().result), 1e-12);
    else
      EXPECT_EQ(text, GetParam().result);
  }
};

TEST_P(AggregateState, isSparks) {
  const auto call = parseCall(GetParam().call);
  const auto aggregator = updated(*call, Selection::all(4));
  std::string fields, saved;
  const auto columns = aggregator->saveBuffers(std::vector<uint32_t>{kGroup}, arrow::default_memory_pool());
  const std::vector<StructField> buffers = aggregator->bufferFields();
  ASSERT_EQ(columns.size(), buffers.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    fields += (i ? ", " : "") + buffers[i].name + " " + buffers[i].type->simpleString() +
              (buffers[i].nullable ? "" : "!");
    saved += (i ? ", " : "") + textOf(*buffers[i].type, *columns[i], 0);
  }
  EXPECT_EQ(fields, GetParam().fields);
  EXPECT_EQ(saved, GetParam().saved);
  EXPECT_EQ(result(*call, *aggregator), GetParam().result);
}

TEST_P(AggregateState, goesOnAfterItWasSaved) {
  const auto call = parseCall(GetParam().call);
  const auto first = updated(*call, Selection::of(4, {0, 1}));
  const std::vector<uint32_t> saved = {0, kGroup};
  const auto loaded = call->spec().make();
  loaded->resize(2);
  loaded->loadBuffers(saved, first->saveBuffers(saved, arrow::default_memory_pool()));
  const auto rest = updated(*call, Selection::of(4, {2, 3}));
  loaded->merge(saved, saved, *rest);
  expectResult(*call, *loaded);
  // And a group that was emptied begins anew.
  loaded->reset(saved);
  const auto all = updated(*call, Selection::all(4));
  loaded->merge(saved, saved, *all);
  expectResult(*call, *loaded);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Spark, AggregateState, testing::Values(
    Case{"sum(i)", "sum bigint",
         "13",
         "13"},
    Case{"sum(d)", "sum double",
         "8.5",
         "8.5"},
    Case{"sum(d8)", "sum bigint",
         "650",
         "6.50"},
    Case{"sum(d9)", "sum decimal(19,2), isEmpty boolean!",
         "6.50, false",
         "6.50"},
    Case{"try_sum(i)", "sum bigint, isEmpty boolean!",
         "13, false",
         "13"},
    Case{"try_sum(d8)", "sum bigint",
         "650",
         "6.50"},
    Case{"try_sum(d20)", "sum decimal(30,2), isEmpty boolean!",
         "6.50, false",
         "6.50"},
    Case{"avg(i)", "sum double, count bigint",
         "13.0, 3",
         "4.333333333333333"},
    Case{"avg(d10)", "sum double, count bigint",
         "650.0, 3",
         "2.166667"},
    Case{"avg(d11)", "sum double, count bigint",
         "650.0, 3",
         "2.166667"},
    Case{"avg(d12)", "sum decimal(22,2), count bigint",
         "6.50, 3",
         "2.166667"},
    Case{"count(i)", "count bigint!",
         "3",
         "3"},
    Case{"count_if(b)", "count bigint!",
         "2",
         "2"},
    Case{"min(i)", "min int",
         "3",
         "3"},
    Case{"max(s)", "max string",
         "c",
         "c"},
    Case{"first(i)", "first int, valueSet boolean",
         "3, true",
         "3"},
    Case{"last(s)", "last string, valueSet boolean",
         "NULL, true",
         "NULL"},
    Case{"any_value(i)", "first int, valueSet boolean",
         "3, true",
         "3"},
    Case{"min_by(s, i)", "valueWithExtremumOrdering string, extremumOrdering int",
         "a, 3",
         "a"},
    Case{"max_by(i, s)", "valueWithExtremumOrdering int, extremumOrdering string",
         "5, c",
         "5"},
    Case{"bool_and(b)", "min boolean",
         "false",
         "false"},
    Case{"bool_or(b)", "max boolean",
         "true",
         "true"},
    Case{"bit_and(i)", "bit_and int",
         "1",
         "1"},
    Case{"bit_or(l)", "bit_or bigint",
         "7",
         "7"},
    Case{"stddev(i)", "n double!, avg double!, m2 double!",
         "3.0, 4.333333333333333, 2.666666666666667",
         "1.1547005383792517"},
    Case{"skewness(i)", "n double!, avg double!, m2 double!, m3 double!",
         "3.0, 4.333333333333333, 2.666666666666667, -1.7777777777777781",
         "-0.7071067811865475"},
    Case{"kurtosis(d)", "n double!, avg double!, m2 double!, m3 double!, m4 double!",
         "3.0, 2.8333333333333335, 4.666666666666666, 2.222222222222225, 10.888888888888879",
         "-1.5000000000000009"},
    Case{"covar_pop(d, l)", "n double!, xAvg double!, yAvg double!, ck double!",
         "3.0, 2.8333333333333335, 5.0, 6.0",
         "2.0"},
    Case{"corr(d, l)", "n double!, xAvg double!, yAvg double!, ck double!, xMk double!, yMk double!",
         "3.0, 2.8333333333333335, 5.0, 6.0, 4.666666666666666, 8.0",
         "0.9819805060619659"},
    Case{"regr_count(d, l)", "count bigint!",
         "3",
         "3"},
    Case{"regr_avgx(d, l)", "sum double, count bigint",
         "15.0, 3",
         "5.0"},
    Case{"regr_r2(d, l)", "n double!, xAvg double!, yAvg double!, ck double!, xMk double!, yMk double!",
         "3.0, 2.8333333333333335, 5.0, 6.0, 4.666666666666666, 8.0",
         "0.9642857142857145"},
    Case{"regr_slope(d, l)", "n double!, xAvg double!, yAvg double!, ck double!, n double!, avg double!, m2 double!",
         "3.0, 5.0, 2.8333333333333335, 6.0, 3.0, 5.0, 8.0",
         "0.75"},
    Case{"regr_intercept(d, l)", "n double!, xAvg double!, yAvg double!, ck double!, n double!, avg double!, m2 double!",
         "3.0, 5.0, 2.8333333333333335, 6.0, 3.0, 5.0, 8.0",
         "-0.9166666666666665"},
    Case{"regr_sxx(d, l)", "n double!, avg double!, m2 double!",
         "3.0, 5.0, 8.0",
         "8.0"},
    Case{"regr_sxy(d, l)", "n double!, xAvg double!, yAvg double!, ck double!",
         "3.0, 2.8333333333333335, 5.0, 6.0",
         "6.0"},
    Case{"collect_list(i)", "buf binary",
         "000000000000000020000000100000000300000000000000000000000000000003000000050000000500000000000000",
         "[3, 5, 5]"},
    Case{"collect_list(s)", "buf binary",
         "0000000000000000400000001000000003000000000000000000000000000000010000002800000001000000300000000100000038000000610000000000000062000000000000006300000000000000",
         "[a, b, c]"},
    Case{"collect_list(d10)", "buf binary",
         "00000000000000002800000010000000030000000000000000000000000000007d00000000000000fa000000000000001301000000000000",
         "[1.25, 2.50, 2.75]"},
    Case{"collect_list(d38)", "buf binary",
         "00000000000000004000000010000000030000000000000000000000000000000100000028000000020000003000000002000000380000007d0000000000000000fa0000000000000113000000000000",
         "[1.25, 2.50, 2.75]"},
    Case{"approx_count_distinct(s, 0.1)", "MS[0] bigint, MS[1] bigint, MS[2] bigint, MS[3] bigint, MS[4] bigint, MS[5] bigint, MS[6] bigint, MS[7] bigint, MS[8] bigint, MS[9] bigint, MS[10] bigint, MS[11] bigint, MS[12] bigint",
         "0, 0, 0, 0, 0, 0, 562949953421312, 0, 262144, 0, 67108864, 0, 0",
         "3"},
    Case{"mode(i)", "buf binary",
         "0000001800000000000000000300000000000000010000000000000000000018000000000000000005000000000000000200000000000000ffffffff",
         "5"},
    Case{"median(i)", "buf binary",
         "0000001800000000000000000300000000000000010000000000000000000018000000000000000005000000000000000200000000000000ffffffff",
         "5.0"},
    Case{"percentile(i, 0.5)", "buf binary",
         "0000001800000000000000000300000000000000010000000000000000000018000000000000000005000000000000000200000000000000ffffffff",
         "5.0"},
    Case{"percentile(d, array(0.25, 0.75))", "buf binary",
         "000000180000000000000000000000000000f83f01000000000000000000001800000000000000000000000000000440010000000000000000000018000000000000000000000000000012400100000000000000ffffffff",
         "[2.0, 3.5]"},
    Case{"percentile_approx(i, 0.5)", "buf binary",
         "000027103f1a36e2eb1c432d000000000000000300000003400800000000000000000000000000010000000000000000401400000000000000000000000000010000000000000000401400000000000000000000000000010000000000000000",
         "5"},
    Case{"listagg(s, ',')", "buf binary",
         "0000000000000000400000001000000003000000000000000000000000000000010000002800000001000000300000000100000038000000610000000000000062000000000000006300000000000000",
         "a,b,c"}));
// clang-format on

}  // namespace
}  // namespace thalweg
