// CREATE TABLE, CREATE OR REPLACE TABLE, REPLACE TABLE; with columns, AS a query, LIKE another table.
#include <set>

#include <arrow/scalar.h>
#include <nlohmann/json.hpp>

#include "commands/new_table.h"
#include "commands/statements.h"
#include "commands/table_target.h"
#include "common/error.h"
#include "common/json_text.h"
#include "delta/files/row_rules.h"
#include "delta/snapshot/table_properties.h"
#include "expr/call.h"
#include "plan/analyze/row_changes.h"
#include "types/char_varchar.h"
#include "types/column_metadata.h"

namespace thalweg {
namespace {

void putIdentity(const sql::ColumnDefinition& column, StructField* field) {
  if (field->type->id() != TypeId::Long) {
    throw Error(
        "DELTA_IDENTITY_COLUMNS_UNSUPPORTED_DATA_TYPE",
        "The identity column " + field->name + " is " + field->type->sqlString() + ", and must be BIGINT.",
        {{"dataType", field->type->typeName()}});
  }
  if (column.identity->step == 0)
    throw Error("IDENTITY_COLUMNS_ILLEGAL_STEP", "The step of the identity column " + field->name + " is 0.");
  const auto put = [&](std::string_view key, const std::string& json) {
    field->metadata = withMetadataKey(field->metadata, key, json);
  };
  put(delta::kIdentityStart, std::to_string(column.identity->start));
  put(delta::kIdentityStep, std::to_string(column.identity->step));
  put(delta::kIdentityAllowExplicitInsert, column.identity->always ? "false" : "true");
}

// What the session's settings make of declared lengths.
StringBounds boundsOf(const sql::ColumnDefinition& column, CommandSession& session) {
  const auto isSet = [&](const char* key) { return session.lookUp(key).value_or("false") == "true"; };
  if (isSet("spark.sql.legacy.charVarcharAsString")) return {};
  StringBounds bounds = column.bounds;
  if (!isSet("spark.sql.charAsVarchar")) return bounds;
  for (StringBound& bound : bounds) {
    if (bound.kind == StringBound::Kind::Char) bound.kind = StringBound::Kind::Varchar;
  }
  return bounds;
}

StructField columnOf(const sql::ColumnDefinition& column, CommandSession& session) {
  if (column.name.size() != 1)
    throw unsupported("The nested column " + quotedName(column.name) + " in CREATE TABLE");
  StructField field{column.name[0], column.type, column.nullable, "{}"};
  field.metadata = withStringBounds(field.metadata, *field.type, boundsOf(column, session));
  const auto put = [&](std::string_view key, const std::string& text) {
    field.metadata = withMetadataKey(field.metadata, key, toJsonText(nlohmann::json(text)));
  };
  if (column.comment) put("comment", *column.comment);
  if (column.generationExpression) put(delta::kGenerationExpression, *column.generationExpression);
  if (column.defaultExpression) put(delta::kCurrentDefault, *column.defaultExpression);
  if (column.identity) putIdentity(column, &field);
  return field;
}

// A default that is too long would end every INSERT that uses it.
void checkDefaultLength(const ExpressionPtr& value, const StructField& field, CommandSession& session) {
  const StringBounds bounds = stringBoundsOf(*field.type, field.metadata);
  if (field.type->id() != TypeId::String || bounds.empty() || value->foldability() != Foldability::Always)
    return;
  const BatchContext context = session.batchContext();
  const auto text = evaluateConstant(*assignedTo(value, field), EvaluationContext{&context});
  const auto& string = static_cast<const arrow::StringScalar&>(*text);
  if (!text->is_valid || numCharacters(string.view()) <= bounds[0].length) return;
  throw Error("EXCEED_LIMIT_LENGTH",
              "The default of " + quotedName({field.name}) + " is longer than " +
                  std::to_string(bounds[0].length) + " characters.",
              {{"limit", std::to_string(bounds[0].length)}});
}

// Deterministic within a query, and not from one to the next. (now() is let through, as in Delta.)
void refuseMoments(const Expression& expression) {
  static const std::set<std::string_view> kMoments = {"current_timestamp", "current_date"};
  if (expression.kind() == ExpressionKind::Call) {
    const std::string& name = static_cast<const Call&>(expression).traits().name;
    if (kMoments.contains(name)) {
      throw Error("DELTA_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN",
                  "A generated column cannot be made by " + name +
                      "(), whose value is another whenever it is computed.",
                  {{"expression", name + "()"}});
    }
  }
  for (const ExpressionPtr& child : expression.children()) refuseMoments(*child);
}

// Generated columns are made of the others, the same whenever they are computed.
void checkGenerated(const Schema& schema, CommandSession& session) {
  const AnalyzerContext context = session.analyzerContext();
  std::vector<StructField> others;
  for (const StructField& field : schema.fields()) {
    if (!delta::isGenerated(field)) others.push_back(field);
  }
  const std::vector<AttributePtr> columns = tableColumns(*DataType::structOf(std::move(others)), {});
  for (const StructField& field : schema.fields()) {
    const auto sql = metadataText(field.metadata, delta::kGenerationExpression);
    if (!sql) {
      if (const auto value = metadataText(field.metadata, delta::kCurrentDefault))
        checkDefaultLength(analyzeExpression(*value, {}, context), field, session);
      continue;
    }
    const ExpressionPtr expression = analyzeExpression(*sql, columns, context);
    if (!expression->deterministic()) {
      throw Error("UNSUPPORTED_EXPRESSION_GENERATED_COLUMN",
                  "The generated column " + field.name + " cannot be made by " + *sql +
                      ", which may differ from call to call.",
                  {{"fieldName", field.name},
                   {"expressionStr", *sql},
                   {"reason", "generation expression is not deterministic"}});
    }
    refuseMoments(*expression);
    if (equals(*expression->type(), *field.type)) continue;
    throw Error("DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH",
                "The generated column " + field.name + " is " + field.type->sqlString() +
                    ", and its expression " + expression->type()->sqlString() + ": cast it.",
                {{"columnName", field.name},
                 {"expressionType", expression->type()->sqlString()},
                 {"columnType", field.type->sqlString()}});
  }
}

std::vector<std::string> partitionsOf(const std::vector<sql::Transform>& transforms) {
  std::vector<std::string> columns;
  for (const sql::Transform& transform : transforms) {
    if (transform.function != "identity") {
      throw Error("DELTA_OPERATION_NOT_ALLOWED",
                  "A Delta table is partitioned by columns, not by expressions such as " +
                      transform.function + "(…).",
                  {{"operation", "Partitioning by expressions"}});
    }
    columns.push_back(transform.column.size() == 1 ? transform.column[0] : quotedName(transform.column));
  }
  return columns;
}

// LIKE: the columns, partitions, comment and properties of another table, none of its rows.
void copyDeclaration(const sql::Name& source, NewTable* table, CommandSession& session) {
  const TableTarget target = requireTable(source, session, "CREATE TABLE LIKE");
  if (table->provider.empty()) table->provider = target.provider;
  const auto snapshot = requireDelta(target, session, "CREATE TABLE LIKE")->require();
  table->columns = snapshot->schema();
  table->partitionedBy = snapshot->partitionColumns();
  table->comment = snapshot->metadata().description;
  for (const auto& property : snapshot->metadata().configuration) {
    if (!delta::isOfOneTable(property.first)) table->properties.insert(property);
  }
}

}  // namespace

CommandResult run(const sql::CreateTable& statement, CommandSession& session) {
  using Copy = sql::CreateTable::Copy;
  if (statement.copy == Copy::ShallowClone || statement.copy == Copy::DeepClone)
    throw unsupported("CREATE TABLE … CLONE");
  NewTable table;
  table.name = statement.table;
  table.location = statement.location;
  table.comment = statement.comment;
  table.properties.insert(statement.properties.begin(), statement.properties.end());
  table.partitionedBy = partitionsOf(statement.partitionedBy);
  table.clusterBy = statement.clusterBy;
  table.ifNotExists = statement.ifNotExists;
  table.orReplace = statement.orReplace;
  table.mustExist = statement.replaceOnly;
  for (const auto& [key, value] : statement.options) {
    if (equalsIgnoreCase(key, "path"))
      table.location = value;
    else
      table.options.set(key, value);
  }
  if (statement.provider) table.provider = *statement.provider;
  if (statement.copy == Copy::Like) copyDeclaration(statement.source, &table, session);
  if (table.provider.empty())
    table.provider = session.lookUp("spark.sql.sources.default").value_or("parquet");
  if (!statement.columns.empty()) {
    std::vector<StructField> columns;
    for (const sql::ColumnDefinition& column : statement.columns)
      columns.push_back(columnOf(column, session));
    table.columns = DataType::structOf(std::move(columns));
    checkGenerated(*table.columns, session);
  }
  if (statement.query) {
    if (table.columns) {
      throw Error("_LEGACY_ERROR_TEMP_0029",
                  "CREATE TABLE … AS takes its columns from the query: leave the list of columns out.");
    }
    table.query = session.resolve(*statement.query);
  }
  createTable(table, session);
  return {};
}

}  // namespace thalweg
