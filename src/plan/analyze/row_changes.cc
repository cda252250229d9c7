#include "plan/analyze/row_changes.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <spark/connect/expressions.pb.h>
#include <spark/connect/relations.pb.h>

#include "common/error.h"
#include "expr/aggregate.h"
#include "expr/cast/cast.h"
#include "expr/cast/nested_names.h"
#include "expr/generator.h"
#include "plan/analyze/char_padding.h"
#include "plan/analyze/expressions.h"
#include "sql/message_ptr.h"
#include "sql/parser.h"
#include "thalweg.pb.h"
#include "types/column_metadata.h"

namespace thalweg {
namespace {

namespace proto = spark::connect;

constexpr std::string_view kCurrentDefault = "CURRENT_DEFAULT";

Scope scopeOf(const std::vector<AttributePtr>& columns, const AnalyzerContext& context) {
  return Scope(columns, nullptr, context.functions.caseSensitive);
}

std::vector<AttributePtr> named(std::vector<AttributePtr> columns, const std::string& alias) {
  if (alias.empty()) return columns;
  for (AttributePtr& column : columns) column = column->withQualifier({alias});
  return columns;
}

bool holdsSubquery(const google::protobuf::Message& message) {
  if (message.GetDescriptor() == proto::Expression::descriptor() &&
      static_cast<const proto::Expression&>(message).has_subquery_expression())
    return true;
  const auto* reflection = message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const auto* field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (holdsSubquery(field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                             : reflection->GetMessage(message, field)))
        return true;
    }
  }
  return false;
}

// Delta takes none in the condition of a statement that changes rows; in other places they are ours to build.
void refuseSubquery(const proto::Expression* condition, const char* operation) {
  if (!condition || !holdsSubquery(*condition)) return;
  throw Error("DELTA_UNSUPPORTED_SUBQUERY",
              std::string("A subquery cannot stand in ") + operation +
                  ": put its values into the statement, or use MERGE.",
              {{"operation", operation}, {"cond", ""}});
}

void checkDeterministic(const Expression& expression) {
  if (expression.deterministic()) return;
  throw Error("INVALID_NON_DETERMINISTIC_EXPRESSIONS",
              "'" + expression.toString() +
                  "' may differ from call to call: a statement that changes rows cannot "
                  "hold it.",
              {{"sqlExprs", "\"" + expression.toString() + "\""}});
}

std::string quotedPath(const std::vector<std::string>& path) {
  std::string text;
  for (const std::string& part : path) text += (text.empty() ? "`" : ".`") + part + "`";
  return text;
}

bool isDefault(const proto::Expression& message) {
  messages::SqlDefault byDefault;
  return message.has_extension() && sql::unpackExtension(message.extension(), &byDefault);
}

ExpressionPtr defaultOf(const Attribute& column, const AnalyzerContext& context) {
  const auto text = metadataText(column.metadata(), kCurrentDefault);
  return text ? analyzeExpression(*text, {}, context) : Literal::null(column.type());
}

// One `column = value`, the column as positions from the table's column down.
struct Assigned {
  std::vector<int> path;
  std::vector<std::string> name;
  ExpressionPtr value;
};

// Where the parts of a name lead: the table's column, then its fields.
std::vector<int> pathOf(const ExpressionPtr& target, const std::vector<AttributePtr>& columns,
                        const std::vector<std::string>& name) {
  std::vector<int> path;
  const Expression* at = target.get();
  for (; at->kind() == ExpressionKind::Field; at = at->children()[0].get())
    path.insert(path.begin(), static_cast<const FieldAccess&>(*at).ordinal());
  if (at->kind() != ExpressionKind::Attribute)
    throw unsupported("UPDATE SET " + quotedPath(name) + ", which is inside an array or a map");
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i]->id() == static_cast<const Attribute&>(*at).id())
      path.insert(path.begin(), static_cast<int>(i));
  }
  return path;
}

bool startsWith(const std::vector<int>& path, const std::vector<int>& front) {
  return front.size() <= path.size() && std::equal(front.begin(), front.end(), path.begin());
}

void refuseConflicts(const std::vector<Assigned>& assigned) {
  for (size_t i = 0; i < assigned.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const auto& one = assigned[j];
      const auto& other = assigned[i];
      if (!startsWith(one.path, other.path) && !startsWith(other.path, one.path)) continue;
      const std::string list = quotedPath(one.name) + ", " + quotedPath(other.name);
      throw Error("DELTA_CONFLICT_SET_COLUMN", "UPDATE sets a column twice: " + list + ".",
                  {{"columnList", "[" + list + "]"}});
    }
  }
}

// The value of a column, or of a field in it, after the assignments to it and below it.
ExpressionPtr valueAfter(const ExpressionPtr& before, const StructField& field,
                         const std::vector<Assigned>& assigned, size_t depth,
                         const AnalyzerContext& context) {
  if (assigned.size() == 1 && assigned[0].path.size() == depth)
    return assignedTo(fieldsByName(assigned[0].value, field.type), field);
  std::vector<ExpressionPtr> arguments;
  for (size_t i = 0; i < field.type->fields().size(); ++i) {
    const StructField& inner = field.type->fields()[i];
    std::vector<Assigned> below;
    for (const Assigned& one : assigned) {
      if (one.path[depth] == static_cast<int>(i)) below.push_back(one);
    }
    const auto member = std::make_shared<FieldAccess>(before, static_cast<int>(i));
    arguments.push_back(Literal::of(inner.name));
    arguments.push_back(below.empty() ? member : valueAfter(member, inner, below, depth + 1, context));
  }
  return resolveFunction({"named_struct", std::move(arguments)}, context.functions);
}

}  // namespace

std::vector<AttributePtr> tableColumns(const Schema& schema, const std::vector<std::string>& qualifier) {
  std::vector<AttributePtr> columns = attributesOf(schema);
  for (AttributePtr& column : columns) column = column->withQualifier(qualifier);
  return columns;
}

ExpressionPtr analyzeExpression(const proto::Expression& message, const std::vector<AttributePtr>& columns,
                                const AnalyzerContext& context) {
  const Scope scope = scopeOf(columns, context);
  const ExpressionPtr expression = ExpressionAnalyzer(scope, context).resolve(message);
  if (containsAggregate(*expression) || containsGenerator(*expression)) {
    throw Error("UNSUPPORTED_EXPR_FOR_OPERATOR",
                "'" + expression->toString() +
                    "' holds an aggregate function or a generator, which cannot stand here.",
                {{"invalidExprSqls", "\"" + expression->toString() + "\""}});
  }
  return expression->kind() == ExpressionKind::Alias ? expression->children()[0] : expression;
}

ExpressionPtr analyzeExpression(const std::string& text, const std::vector<AttributePtr>& columns,
                                const AnalyzerContext& context) {
  proto::Expression message;
  sql::ParseOptions options;
  options.timeZone = TimeZone::parse(context.functions.timeZone);
  sql::parseExpression(text, &message, options);
  return analyzeExpression(message, columns, context);
}

namespace {

ExpressionPtr checkedCondition(ExpressionPtr condition) {
  if (condition->type()->id() != TypeId::Boolean) {
    const std::string text = "\"" + condition->toString() + "\"";
    throw Error(
        "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN",
        "WHERE takes a condition, but " + text + " is " + condition->type()->sqlString() + ".",
        {{"sqlExpr", text}, {"filter", text}, {"type", "\"" + condition->type()->sqlString() + "\""}});
  }
  checkDeterministic(*condition);
  return overPaddedChars(condition);
}

}  // namespace

ExpressionPtr analyzeCondition(const proto::Expression& message, const std::vector<AttributePtr>& columns,
                               const AnalyzerContext& context) {
  return checkedCondition(analyzeExpression(message, columns, context));
}

ExpressionPtr analyzeCondition(const std::string& text, const std::vector<AttributePtr>& columns,
                               const AnalyzerContext& context) {
  return checkedCondition(analyzeExpression(text, columns, context));
}

void fillDefaults(proto::Relation* query, const std::vector<StructField>& columns) {
  messages::SqlValues values;
  if (!query->has_extension() || !sql::unpackExtension(query->extension(), &values)) return;
  bool changed = false;
  for (auto& row : *values.mutable_rows()) {
    for (int i = 0; i < row.values_size() && i < static_cast<int>(columns.size()); ++i) {
      if (!isDefault(row.values(i))) continue;
      const auto text = metadataText(columns[static_cast<size_t>(i)].metadata, kCurrentDefault);
      proto::Expression value;
      sql::parseExpression(text.value_or("NULL"), &value);
      *row.mutable_values(i) = std::move(value);
      changed = true;
    }
  }
  if (changed) query->mutable_extension()->PackFrom(values);
}

ExpressionPtr assignedTo(const ExpressionPtr& value, const StructField& column) {
  return castTo(value, column.type, CastMode::Ansi);
}

LogicalDelete analyzeDelete(const sql::Delete& statement, std::vector<AttributePtr> columns,
                            const AnalyzerContext& context) {
  LogicalDelete plan{named(std::move(columns), statement.alias), nullptr};
  refuseSubquery(statement.condition.get(), "DELETE");
  if (statement.condition) plan.condition = analyzeCondition(*statement.condition, plan.columns, context);
  return plan;
}

LogicalUpdate analyzeUpdate(const sql::Update& statement, std::vector<AttributePtr> columns,
                            const AnalyzerContext& context) {
  LogicalUpdate plan{named(std::move(columns), statement.alias), nullptr, {}};
  refuseSubquery(statement.condition.get(), "UPDATE");
  const Scope scope = scopeOf(plan.columns, context);
  std::vector<Assigned> assigned;
  for (const sql::Assignment& assignment : statement.assignments) {
    std::vector<int> path = pathOf(scope.resolve(assignment.column), plan.columns, assignment.column);
    assigned.push_back({std::move(path), assignment.column, nullptr});
  }
  refuseConflicts(assigned);
  for (size_t i = 0; i < assigned.size(); ++i) {
    const proto::Expression& message = *statement.assignments[i].value;
    const Attribute& column = *plan.columns[static_cast<size_t>(assigned[i].path[0])];
    if (isDefault(message) && assigned[i].path.size() > 1)
      throw unsupported("DEFAULT for " + quotedPath(assigned[i].name) + ", a field of a column");
    assigned[i].value =
        isDefault(message) ? defaultOf(column, context) : analyzeExpression(message, plan.columns, context);
    checkDeterministic(*assigned[i].value);
    assigned[i].value = overPaddedChars(assigned[i].value);
  }
  for (size_t i = 0; i < plan.columns.size(); ++i) {
    std::vector<Assigned> own;
    for (const Assigned& one : assigned) {
      if (one.path[0] == static_cast<int>(i)) own.push_back(one);
    }
    const Attribute& column = *plan.columns[i];
    const StructField field{column.name(), column.type(), column.nullable(), column.metadata()};
    plan.values.push_back(own.empty() ? nullptr : valueAfter(plan.columns[i], field, own, 1, context));
  }
  if (statement.condition) plan.condition = analyzeCondition(*statement.condition, plan.columns, context);
  return plan;
}

}  // namespace thalweg
