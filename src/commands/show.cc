#include "commands/show.h"

#include <arrow/api.h>

#include <algorithm>
#include <set>

#include "commands/name_columns.h"
#include "commands/rows.h"
#include "commands/statements.h"
#include "commands/table_target.h"
#include "commands/views.h"
#include "common/error.h"
#include "common/secret.h"
#include "expr/cast/cast.h"
#include "functions/registry.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

using Kind = sql::ShowTables::Kind;

bool matches(const std::optional<std::string>& pattern, const std::string& name) {
  return !pattern || matchesPattern(*pattern, name);
}

CommandResult textRows(const char* column, const std::vector<std::string>& values) {
  const SchemaPtr schema = DataType::structOf({{column, stringType(), false}});
  RowBuilder rows(schema);
  for (const std::string& value : values) rows.addText(value);
  return {schema, {rows.finish()}};
}

CommandResult showNames(const sql::ShowTables& statement, CommandSession& session) {
  const bool views = statement.kind == Kind::Views;
  const SchemaPtr schema = DataType::structOf({{"namespace", stringType(), false},
                                               {views ? "viewName" : "tableName", stringType(), false},
                                               {"isTemporary", booleanType(), false}});
  RowBuilder rows(schema);
  for (const ListedName& one : listNames(statement.name, statement.pattern, views, session)) {
    rows.addText(one.schema);
    rows.addText(one.name);
    rows.addBool(one.temporary);
  }
  return {schema, {rows.finish()}};
}

CommandResult showSchemas(const sql::ShowTables& statement, CommandSession& session) {
  std::vector<std::string> names;
  const std::string catalog =
      statement.name.empty() ? session.names().catalog : toLowerAscii(statement.name[0]);
  for (const SchemaEntry& schema : session.catalog().schemas(catalog)) {
    if (matches(statement.pattern, schema.name.schema)) names.push_back(schema.name.schema);
  }
  return textRows("namespace", names);
}

CommandResult showColumns(const sql::ShowTables& statement, CommandSession& session) {
  const SchemaPtr schema = DataType::structOf({{"col_name", stringType()}});
  RowBuilder rows(schema);
  const NameColumns columns = columnsOfName(statement.name, session);
  for (const StructField& field : columns.schema->fields()) rows.addText(field.name);
  return {schema, {rows.finish()}};
}

struct NamedProperties {
  std::string table;  // as messages show it
  std::map<std::string, std::string> values;
};

NamedProperties propertiesOf(const sql::Name& name, CommandSession& session) {
  if (isPathName(name)) {
    const std::string operation = "SHOW TBLPROPERTIES";
    const TableTarget target = requireTable(name, session, operation);
    return {target.shownName(), tableProperties(*requireDelta(target, session, operation)->require())};
  }
  const auto entry = findEntry(name, session);
  if (!entry) throw nameNotFound(name);
  return {entry->name.dotted(), tableProperties(*entry, session)};
}

CommandResult showProperties(const sql::ShowTables& statement, CommandSession& session) {
  const SchemaPtr schema = DataType::structOf({{"key", stringType(), false}, {"value", stringType(), false}});
  RowBuilder rows(schema);
  const auto [table, properties] = propertiesOf(statement.name, session);
  if (statement.key) {
    const auto it = properties.find(*statement.key);
    rows.addText(*statement.key);
    rows.addText(it != properties.end() ? shownSetting(it->first, it->second)
                                        : "Table " + table + " does not have property: " + *statement.key);
    return {schema, {rows.finish()}};
  }
  for (const auto& [key, value] : properties) {
    rows.addText(key);
    rows.addText(shownSetting(key, value));
  }
  return {schema, {rows.finish()}};
}

CommandResult showCurrentNamespace(CommandSession& session) {
  const SchemaPtr schema =
      DataType::structOf({{"catalog", stringType(), false}, {"namespace", stringType(), false}});
  RowBuilder rows(schema);
  rows.addText(session.names().catalog);
  rows.addText(session.names().schema);
  return {schema, {rows.finish()}};
}

std::string quotedText(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' || c == '\\' ? "\\" + std::string(1, c) : std::string(1, c);
  return quoted + "'";
}

}  // namespace

std::vector<ListedName> listNames(const sql::Name& schema, const std::optional<std::string>& pattern,
                                  bool viewsOnly, CommandSession& session) {
  std::vector<ListedName> listed;
  const bool global = schema.size() == 1 && equalsIgnoreCase(schema[0], kGlobalTempSchema);
  if (global) {
    for (const std::string& name : session.tempViews(TempViews::Global)) {
      if (matches(pattern, name)) listed.push_back({std::string(kGlobalTempSchema), name, true});
    }
  } else {
    const NameScope names = session.names();
    const SchemaName wanted =
        schema.empty() ? SchemaName{names.catalog, names.schema} : qualifySchema(schema, names);
    for (TableEntry& entry : session.catalog().tables(wanted)) {
      if ((viewsOnly && !entry.isView()) || !matches(pattern, entry.name.table)) continue;
      listed.push_back({entry.name.schema, entry.name.table, false, std::move(entry)});
    }
  }
  for (const std::string& name : session.tempViews(TempViews::Session)) {
    if (matches(pattern, name)) listed.push_back({"", name, true});
  }
  return listed;
}

std::vector<std::string> functionNames(const std::optional<std::string>& pattern) {
  std::set<std::string> names;
  for (const auto& family :
       {operatorFunctions(), conditionalFunctions(), stringFunctions(), datetimeFunctions(), jsonFunctions(),
        collectionFunctions(), mathFunctions(), hashFunctions(), aggregateFunctions()}) {
    for (const FunctionRow& row : family) {
      // Names with capitals are those of methods of PySpark's Column, not of SQL functions.
      const std::string name(row.name);
      if (toLowerAscii(name) == name && matches(pattern, name)) names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

std::string createStatement(const sql::Name& name, CommandSession& session) {
  if (name.size() == 1 && session.findTempView(TempViews::Session, name[0])) {
    throw Error("EXPECT_PERMANENT_VIEW_NOT_TEMP",
                "SHOW CREATE TABLE takes a stored view, and " + quotedName(name) + " is a temporary one.",
                {{"operation", "SHOW CREATE TABLE"}, {"viewName", quotedName(name)}});
  }
  const auto entry = findEntry(name, session);
  if (!entry) throw nameNotFound(name);
  if (!entry->isView()) {
    throw Error("DELTA_OPERATION_NOT_ALLOWED",
                "SHOW CREATE TABLE is not for Delta tables: DESCRIBE EXTENDED and SHOW TBLPROPERTIES say "
                "what they are.",
                {{"operation", "SHOW CREATE TABLE"}});
  }
  std::string text = "CREATE VIEW " + entry->name.schema + "." + entry->name.table + " (";
  const SchemaPtr columns = viewColumns(*entry);
  for (size_t i = 0; i < columns->fields().size(); ++i) {
    const StructField& field = columns->fields()[i];
    text += (i == 0 ? "\n  " : ",\n  ") + field.name;
    if (const auto comment = columnComment(field)) text += " COMMENT " + quotedText(*comment);
  }
  text += ")\n";
  if (entry->comment) text += "COMMENT " + quotedText(*entry->comment) + "\n";
  if (!entry->properties.empty()) {
    text += "TBLPROPERTIES (\n";
    size_t left = entry->properties.size();
    for (const auto& [key, value] : entry->properties)
      text += "  " + quotedText(key) + " = " + quotedText(*shownSetting(key, value)) +
              (--left > 0 ? ",\n" : ")\n");
  }
  return text + "WITH SCHEMA COMPENSATION\nAS " + entry->view->text + "\n";
}

CommandResult listPartitions(const sql::Name& name, CommandSession& session) {
  const TableTarget target = requireTable(name, session, "SHOW PARTITIONS");
  const auto snapshot = requireDelta(target, session, "SHOW PARTITIONS")->require();
  const auto& columns = snapshot->partitionColumns();
  if (columns.empty()) {
    throw Error("DELTA_SHOW_PARTITION_IN_NON_PARTITIONED_TABLE",
                "SHOW PARTITIONS is for tables with partitions, and " + target.shownName() + " has none.",
                {{"tableName", target.shownName()}});
  }
  if (snapshot->metadata().configuration.contains("delta.columnMapping.mode"))
    throw unsupported("SHOW PARTITIONS of a table with column mapping");
  std::set<std::vector<std::optional<std::string>>> partitions;
  snapshot->files().forEachLive([&](const delta::FileRecord& record) {
    const delta::PartitionValues values = record.toAdd(delta::Statistics::LeftOut).partitionValues;
    std::vector<std::optional<std::string>> partition;
    for (const std::string& column : columns) {
      const auto it = values.find(column);
      partition.push_back(it == values.end() ? std::nullopt : it->second);
    }
    partitions.insert(std::move(partition));
  });
  std::vector<StructField> texts;
  std::vector<StructField> fields;
  for (const std::string& column : columns) {
    texts.push_back({column, stringType()});
    fields.push_back(
        {column, snapshot->schema()
                     ->fields()[static_cast<size_t>(snapshot->schema()->fieldIndex(column, false))]
                     .type});
  }
  RowBuilder rows(DataType::structOf(texts));
  for (const auto& partition : partitions) {
    for (const auto& value : partition) rows.addText(value);
  }
  const auto asTexts = rows.finish();
  const BatchContext context = session.batchContext();
  arrow::ArrayVector arrays;
  for (int i = 0; i < asTexts->num_columns(); ++i) {
    arrays.push_back(castArray(asTexts->column(i), *stringType(), *fields[static_cast<size_t>(i)].type,
                               CastMode::Ansi, EvaluationContext{&context}));
  }
  const SchemaPtr schema = DataType::structOf(std::move(fields));
  return {schema, {arrow::RecordBatch::Make(toArrowSchema(*schema), asTexts->num_rows(), std::move(arrays))}};
}

CommandResult run(const sql::ShowTables& statement, CommandSession& session) {
  switch (statement.kind) {
    case Kind::Tables:
    case Kind::Views:
      return showNames(statement, session);
    case Kind::Schemas:
      return showSchemas(statement, session);
    case Kind::Columns:
      return showColumns(statement, session);
    case Kind::TableProperties:
      return showProperties(statement, session);
    case Kind::Partitions:
      return listPartitions(statement.name, session);
    case Kind::CreateTable:
      return textRows("createtab_stmt", {createStatement(statement.name, session)});
    case Kind::CurrentNamespace:
      return showCurrentNamespace(session);
    case Kind::Functions:
      return textRows("function", statement.systemFunctions ? functionNames(statement.pattern)
                                                            : std::vector<std::string>());
    case Kind::Catalogs: {
      std::vector<std::string> names = session.catalog().catalogs();
      std::erase_if(names, [&](const std::string& name) { return !matches(statement.pattern, name); });
      return textRows("catalog", names);
    }
  }
  throw unsupported("This SHOW");
}

}  // namespace thalweg
