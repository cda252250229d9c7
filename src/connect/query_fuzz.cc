// Any text as a SQL query over a small table of all types: parsed, analyzed, optimized, planned and run. An
// answer of sound batches or an Error; with and without ANSI.
#include <google/protobuf/stubs/logging.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <arrow/api.h>
#include <spark/connect/relations.pb.h>

#include "common/error.h"
#include "common/options.h"
#include "exec/pipeline/execution.h"
#include "exec/planner/planner.h"
#include "plan/analyze/analyzer.h"
#include "plan/optimize/optimizer.h"
#include "sql/parser.h"
#include "types/arrow_types.h"
#include "types/ddl.h"

using namespace thalweg;

namespace {

// The library logs each text that is no UTF-8: requests cannot hold one.
[[maybe_unused]] auto* const kQuiet = google::protobuf::SetLogHandler(nullptr);

// Few rows may ask for much: what they build is bounded by what the user has, not by this target.
constexpr std::array<std::string_view, 7> kExpensive = {"repeat", "range",   "sequence", "space",
                                                        "pad",    "explode", "randstr"};

// A row of values and one of nulls.
const std::shared_ptr<const LogicalLocalRelation>& table() {
  static const auto relation = [] {
    const std::string columns =
        "SELECT 1Y AS b, 2S AS sh, 3 AS i, 4L AS l, 1.5F AS f, -2.5D AS d, 12.34BD AS de, 'a b' AS s, "
        "X'FF00' AS y, true AS t,"
        " DATE'2024-02-29' AS da, TIMESTAMP'2024-02-29 12:34:56.789' AS ts, array(1, null) AS a, map('k', 1) "
        "AS m,"
        " named_struct('x', 1, 'z', 'q') AS st";
    spark::connect::Relation message;
    sql::parseQuery(columns, &message);
    TaskPool pool(1);
    Execution execution;
    execution.pool = &pool;
    const LogicalPtr plan = analyzeRelation(message, AnalyzerContext{});
    const PhysicalPtr physical = planPhysical(optimize(plan), execution.batch);
    const auto running = physical->start(execution);
    const auto batches = collectAll(*running, execution);
    arrow::ArrayVector arrays;
    for (const auto& column : batches[0]->columns()) {
      const auto null = arrow::MakeArrayOfNull(column->type(), 1).ValueOrDie();
      arrays.push_back(arrow::Concatenate({column, null, column}).ValueOrDie());
    }
    std::vector<StructField> fields = schemaOf(*plan)->fields();
    for (StructField& field : fields) field.nullable = true;
    const SchemaPtr schema = DataType::structOf(fields);
    return std::make_shared<const LogicalLocalRelation>(
        attributesOf(*schema),
        std::vector{arrow::RecordBatch::Make(toArrowSchema(*schema), 3, std::move(arrays))});
  }();
  return relation;
}

LogicalPtr tableNamed(const std::vector<std::string>& name, const Options&, bool) {
  return name == std::vector<std::string>{"t"} ? std::make_shared<LogicalLocalRelation>(*table()) : nullptr;
}

void run(std::string_view text, bool ansi) {
  static TaskPool pool(1);
  AnalyzerContext context;
  context.functions.ansi = ansi;
  context.findRelation = tableNamed;
  spark::connect::Relation message;
  sql::parseQuery(text, &message);
  const LogicalPtr plan = analyzeRelation(message, context);
  treeString(*plan);
  Execution execution;
  execution.pool = &pool;
  const PhysicalPtr physical = planPhysical(optimize(plan), execution.batch);
  const auto running = physical->start(execution);
  for (const auto& batch : collectAll(*running, execution)) {
    if (!batch->Validate().ok()) std::abort();
    if (static_cast<size_t>(batch->num_columns()) != plan->output().size()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string lower = toLowerAscii(text);
  for (const std::string_view word : kExpensive) {
    if (lower.find(word) != std::string::npos) return 0;
  }
  for (const bool ansi : {true, false}) {
    try {
      run(text, ansi);
    } catch (const Error&) {
    }
  }
  return 0;
}
