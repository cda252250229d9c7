#include "commands/views.h"

#include <nlohmann/json.hpp>

#include <set>

#include "commands/statements.h"
#include "commands/table_target.h"
#include "common/error.h"
#include "types/schema_json.h"

namespace thalweg {
namespace {

// What a query's meaning depends on: kept with a stored view.
constexpr const char* kCapturedSettings[] = {"spark.sql.ansi.enabled", "spark.sql.caseSensitive",
                                             "spark.sql.session.timeZone", "spark.sql.timestampType",
                                             "spark.sql.sources.default"};

std::string withComment(const std::optional<std::string>& comment, const std::string& metadata) {
  if (!comment) return metadata.empty() ? "{}" : metadata;
  return nlohmann::json({{"comment", *comment}})
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string columnList(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + quotedName({name});
  return list;
}

std::vector<std::string> namesOf(const Schema& schema) {
  std::vector<std::string> names;
  for (const StructField& field : schema.fields()) names.push_back(field.name);
  return names;
}

void checkApart(const std::vector<std::string>& names) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (seen.insert(toLowerAscii(name)).second) continue;
    throw Error("COLUMN_ALREADY_EXISTS",
                "The view, or its query, would have two columns " + quotedName({name}) + ": name them apart.",
                {{"columnName", quotedName({toLowerAscii(name)})}});
  }
}

// The view's columns over its query's: renamed and described as the statement says. The query's own names
// must differ too: a stored view finds its columns by them.
SchemaPtr declaredColumns(const sql::CreateView& statement, const Schema& query,
                          const std::string& viewName) {
  const auto& names = statement.columns;
  if (!names.empty() && names.size() != query.fields().size()) {
    const bool few = query.fields().size() < names.size();
    throw Error(few ? "CREATE_VIEW_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS"
                    : "CREATE_VIEW_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS",
                fmt::format("The view {} names {} columns, and its query has {}.", viewName, names.size(),
                            query.fields().size()),
                {{"viewName", viewName},
                 {"viewColumns", columnList(names)},
                 {"dataColumns", columnList(namesOf(query))}});
  }
  checkApart(namesOf(query));
  checkApart(names);
  std::vector<StructField> fields = query.fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    if (!names.empty()) fields[i].name = names[i];
    if (i < statement.columnComments.size())
      fields[i].metadata = withComment(statement.columnComments[i], fields[i].metadata);
  }
  return DataType::structOf(std::move(fields));
}

ViewDefinition definitionOf(const std::string& text, const Schema& columns, const Schema& query,
                            CommandSession& session) {
  ViewDefinition view{text, session.names(), {}, toSchemaJson(columns), toSchemaJson(query)};
  for (const char* key : kCapturedSettings) {
    if (const auto value = session.lookUp(key)) view.settings[key] = *value;
  }
  return view;
}

CommandResult createTemporaryView(const sql::CreateView& statement, CommandSession& session) {
  if (statement.view.size() > 1) {
    const sql::Name qualifier(statement.view.begin(), statement.view.end() - 1);
    throw Error("INVALID_TEMP_OBJ_QUALIFIER",
                "A temporary view's name has one part: leave out " + quotedName(qualifier) + ".",
                {{"objectType", "VIEW"},
                 {"objectName", quotedName({statement.view.back()})},
                 {"qualifier", quotedName(qualifier)}});
  }
  const std::string& name = statement.view.back();
  const TempViews where = statement.global ? TempViews::Global : TempViews::Session;
  if (statement.ifNotExists && session.findTempView(where, name)) return {};
  LogicalPtr plan = session.resolve(*statement.query);
  const SchemaPtr query = schemaOf(*plan);
  const SchemaPtr columns = declaredColumns(statement, *query, quotedName(statement.view));
  if (!statement.columns.empty()) {
    const std::vector<AttributePtr> output = visibleOutput(*plan);
    std::vector<ExpressionPtr> renamed;
    for (size_t i = 0; i < output.size(); ++i)
      renamed.push_back(std::make_shared<Alias>(output[i], columns->fields()[i].name));
    plan = std::make_shared<LogicalProject>(std::move(renamed), std::move(plan));
  }
  session.addTempView(where, name, std::move(plan), statement.orReplace);
  return {};
}

CommandResult createStoredView(const sql::CreateView& statement, CommandSession& session) {
  const TableName name = qualifyTable(statement.view, session.names());
  session.catalog().requireSchema(name.schemaName());
  const auto existing = session.catalog().find(name);
  if (existing && statement.ifNotExists) return {};
  if (existing && !statement.orReplace) throw tableAlreadyExists(name);
  if (existing && !existing->isView()) {
    throw Error("EXPECT_VIEW_NOT_TABLE.NO_ALTERNATIVE",
                name.quoted() + " is a table, and CREATE OR REPLACE VIEW replaces views only.",
                {{"operation", "CREATE OR REPLACE VIEW"}, {"tableName", name.quoted()}});
  }
  checkNewName(statement.view.back());
  const SchemaPtr query = schemaOf(*session.resolveForView(*statement.query, name));
  TableEntry entry;
  entry.name = name;
  entry.kind = TableKind::View;
  entry.comment = statement.comment;
  entry.properties.insert(statement.properties.begin(), statement.properties.end());
  entry.view =
      definitionOf(statement.queryText, *declaredColumns(statement, *query, name.quoted()), *query, session);
  if (existing)
    session.catalog().replace(entry);
  else
    session.catalog().create(entry);
  return {};
}

}  // namespace

CommandResult run(const sql::CreateView& statement, CommandSession& session) {
  if (!statement.query) throw unsupported("CREATE VIEW … USING a format");
  return statement.temporary || statement.global ? createTemporaryView(statement, session)
                                                 : createStoredView(statement, session);
}

CommandResult alterView(const sql::AlterTable& statement, CommandSession& session) {
  const sql::Name& name = statement.table;
  if (name.size() == 1 && session.findTempView(TempViews::Session, name[0])) {
    session.addTempView(TempViews::Session, name[0], session.resolve(*statement.query), /*replace=*/true);
    return {};
  }
  auto entry = findEntry(name, session);
  if (!entry) throw nameNotFound(name);
  if (!entry->isView()) {
    throw Error("EXPECT_VIEW_NOT_TABLE.NO_ALTERNATIVE",
                entry->name.quoted() + " is a table, and ALTER VIEW changes views.",
                {{"operation", "ALTER VIEW ... AS"}, {"tableName", entry->name.quoted()}});
  }
  const SchemaPtr query = schemaOf(*session.resolveForView(*statement.query, entry->name));
  const SchemaPtr columns = declaredColumns({}, *query, entry->name.quoted());
  entry->view = definitionOf(statement.queryText, *columns, *query, session);
  session.catalog().replace(*entry);
  return {};
}

SchemaPtr viewColumns(const TableEntry& view) {
  return parseSchemaJson(view.view->columns);
}

}  // namespace thalweg
