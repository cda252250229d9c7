// table_changes('name', start[, end]) and table_changes_by_path('path', start[, end]): a Delta table's change
// data feed.
#include <arrow/scalar.h>
#include <spark/connect/relations.pb.h>

#include "common/error.h"
#include "plan/analyze/relations.h"
#include "sql/parser.h"

namespace thalweg {
namespace {

namespace proto = spark::connect;

constexpr const char* kTableChanges = "table_changes";
constexpr const char* kTableChangesByPath = "table_changes_by_path";

std::string constantText(const ExpressionPtr& expression, const EvaluationContext& constants) {
  const auto value = evaluateConstant(*castTo(expression, stringType(), CastMode::Ansi), constants);
  if (value->is_valid) return static_cast<const arrow::StringScalar&>(*value).value->ToString();
  throw Error("DELTA_CDC_READ_NULL_RANGE_BOUNDARY",
              "What table_changes takes must not be NULL: a table, and versions or times.");
}

// A number is a version, a text or a timestamp a time.
void setBound(const ExpressionPtr& bound, const std::string& side, const EvaluationContext& constants,
              Options* options) {
  const TypeId type = bound->type()->id();
  if (type == TypeId::Int || type == TypeId::Long || type == TypeId::Short || type == TypeId::Byte) {
    options->set(side + "Version", constantText(bound, constants));
  } else if (type == TypeId::String || type == TypeId::Timestamp || type == TypeId::Void) {
    options->set(side + "Timestamp", constantText(bound, constants));
  } else {
    throw Error(
        "DELTA_UNSUPPORTED_EXPRESSION",
        "The " + side +
            " version of table_changes is a whole number, or a time as a text or timestamp, and not " +
            bound->type()->sqlString() + ".",
        {{"expType", bound->type()->sqlString()},
         {"causedBy", side + " option"},
         {"supportedTypes", "IntegerType,LongType,StringType,TimestampType"}});
  }
}

}  // namespace

bool RelationAnalyzer::isTableChanges(const proto::UnresolvedTableValuedFunction& call) {
  return equalsIgnoreCase(call.function_name(), kTableChanges) ||
         equalsIgnoreCase(call.function_name(), kTableChangesByPath);
}

LogicalPtr RelationAnalyzer::tableChanges(const proto::UnresolvedTableValuedFunction& call) {
  if (call.arguments_size() < 2 || call.arguments_size() > 3) {
    throw Error("WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
                call.function_name() + " takes a table, a first and perhaps a last version.",
                {{"functionName", "`" + call.function_name() + "`"},
                 {"expectedNum", "2 or 3"},
                 {"actualNum", std::to_string(call.arguments_size())},
                 {"docroot", ""}});
  }
  const Scope scope({}, nullptr, context_.functions.caseSensitive);
  const EvaluationContext constants{&constants_};
  std::vector<ExpressionPtr> arguments;
  for (const auto& argument : call.arguments())
    arguments.push_back(ExpressionAnalyzer(scope, context_).resolve(argument));
  const std::string table = constantText(arguments[0], constants);
  Options options{{"readChangeFeed", "true"}};
  setBound(arguments[1], "starting", constants, &options);
  if (arguments.size() > 2) setBound(arguments[2], "ending", constants, &options);
  const bool byPath = equalsIgnoreCase(call.function_name(), kTableChangesByPath);
  const std::vector<std::string> name =
      byPath ? std::vector<std::string>{"delta", table} : sql::parseMultipartIdentifier(table);
  const LogicalPtr found = context_.findRelation(name, options, /*streaming=*/false);
  if (!found) {
    throw Error("TABLE_OR_VIEW_NOT_FOUND",
                "There is no table " + table + "; check its name and the current schema.",
                {{"relationName", table}});
  }
  const std::vector<AttributePtr> columns = visibleOutput(*found);
  const bool hasChanges = std::any_of(columns.begin(), columns.end(), [](const AttributePtr& column) {
    return column->name() == "_change_type";
  });
  if (!hasChanges)
    throw Error("DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS",
                table + " is a view, and has no changes to read: name a Delta table.");
  return found;
}

}  // namespace thalweg
