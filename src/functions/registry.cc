#include "functions/registry.h"

#include <algorithm>
#include <unordered_map>

#include <arrow/compute/initialize.h>

#include "common/error.h"
#include "expr/aggregate.h"

namespace thalweg {
namespace {

const std::unordered_map<std::string, const FunctionRow*>& index() {
  static const auto map = [] {
    // Kernels call Arrow's own by name: they must be there before the first call.
    THALWEG_ASSERT(arrow::compute::Initialize().ok());
    std::unordered_map<std::string, const FunctionRow*> made;
    for (auto family : {operatorFunctions(), conditionalFunctions(), stringFunctions(), datetimeFunctions(), jsonFunctions(),
                        collectionFunctions(), generatorFunctions(), mathFunctions(), hashFunctions(), aggregateFunctions()}) {
      for (const FunctionRow& row : family) {
        const bool isNew = made.emplace(toLowerAscii(row.name), &row).second;
        THALWEG_ASSERT(isNew);
      }
    }
    return made;
  }();
  return map;
}

std::string expectedNumber(const FunctionRow& row) {
  if (row.maxArguments < 0) return "at least " + std::to_string(row.minArguments);
  if (row.minArguments == row.maxArguments) return std::to_string(row.minArguments);
  return std::to_string(row.minArguments) + " to " + std::to_string(row.maxArguments);
}

}  // namespace

bool hasFunction(std::string_view name) { return index().contains(toLowerAscii(name)); }

bool isAggregateFunction(std::string_view name) {
  const auto rows = aggregateFunctions();
  return std::any_of(rows.begin(), rows.end(), [&](const FunctionRow& row) { return equalsIgnoreCase(row.name, name); });
}

void throwUnknownFunction(std::string_view name) {
  throw Error("UNRESOLVED_ROUTINE", "There is no function '" + std::string(name) + "'; check its spelling, or it is not built yet.",
              {{"routineName", "`" + std::string(name) + "`"},
               {"searchPath", "[`system`.`builtin`, `system`.`session`, `spark_catalog`.`default`]"}});
}

ExpressionPtr resolveFunction(const FunctionCall& call, const FunctionContext& context) {
  auto it = index().find(toLowerAscii(call.name));
  if (it == index().end()) throwUnknownFunction(call.name);
  const FunctionRow& row = *it->second;
  const int given = static_cast<int>(call.arguments.size());
  if (given < row.minArguments || (row.maxArguments >= 0 && given > row.maxArguments)) {
    throw Error("WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
                "The function '" + std::string(row.name) + "' takes " + expectedNumber(row) + " arguments, not " +
                    std::to_string(given) + ".",
                {{"functionName", "`" + std::string(row.name) + "`"},
                 {"expectedNum", expectedNumber(row)},
                 {"actualNum", std::to_string(given)},
                 {"docroot", ""}});
  }
  ExpressionPtr resolved = row.resolve(call, context);
  if (call.distinct && !containsAggregate(*resolved)) {
    throw Error("INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX",
                "Only aggregate functions take DISTINCT, not '" + std::string(row.name) + "'.",
                {{"prettyName", "`" + std::string(row.name) + "`"}, {"syntax", "DISTINCT"}});
  }
  return resolved;
}

}  // namespace thalweg
