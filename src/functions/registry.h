// All SQL functions by name. Each family's folder gives a table of rows; this file puts them together.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/options.h"
#include "expr/cast/cast.h"
#include "expr/nodes.h"

namespace thalweg {

// The settings a call is resolved under: those of the session when the plan is analyzed.
struct FunctionContext {
  bool ansi = true;
  std::string timeZone = "UTC";
  bool caseSensitive = false;
  std::string corruptRecordColumn = "_corrupt_record";
  CastMode castMode() const { return ansi ? CastMode::Ansi : CastMode::Legacy; }
};

// A call as it stands in a plan: arguments are resolved expressions.
struct FunctionCall {
  std::string_view name;
  std::vector<ExpressionPtr> arguments;
  bool distinct = false;
  std::vector<ExpressionPtr> withinGroup = {};  // SortOrders of WITHIN GROUP
};

// One row of a family's table: name, how many arguments, and how a call of it becomes a typed expression: a Call with its
// kernel, an AggregateCall, a GeneratorCall, or a rewriting in terms of other expressions. It adds the implicit casts that Spark adds, and
// throws DATATYPE_MISMATCH.… for types that it does not take.
struct FunctionRow {
  std::string_view name;
  int minArguments;
  int maxArguments;  // −1: any number
  std::function<ExpressionPtr(const FunctionCall& call, const FunctionContext& context)> resolve;
};

// A family's table; defined in functions/<family>/table.cc.
std::span<const FunctionRow> operatorFunctions();
std::span<const FunctionRow> conditionalFunctions();
std::span<const FunctionRow> stringFunctions();
std::span<const FunctionRow> datetimeFunctions();
std::span<const FunctionRow> jsonFunctions();
std::span<const FunctionRow> collectionFunctions();
std::span<const FunctionRow> generatorFunctions();
std::span<const FunctionRow> mathFunctions();
std::span<const FunctionRow> hashFunctions();
std::span<const FunctionRow> aggregateFunctions();

// Resolves a call: UNRESOLVED_ROUTINE for an unknown name (names ignore case), WRONG_NUM_ARGS for a wrong number.
ExpressionPtr resolveFunction(const FunctionCall& call, const FunctionContext& context);
bool hasFunction(std::string_view name);
[[noreturn]] void throwUnknownFunction(std::string_view name);
bool isAggregateFunction(std::string_view name);

}  // namespace thalweg
