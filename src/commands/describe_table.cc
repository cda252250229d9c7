// DESCRIBE of tables, views, columns and queries.
#include <date/date.h>

#include "commands/name_columns.h"
#include "commands/rows.h"
#include "commands/statements.h"
#include "common/error.h"
#include "common/secret.h"
#include "sql/parser.h"
#include "types/char_varchar.h"
#include "types/schema_json.h"

namespace thalweg {
namespace {

class Description {
 public:
  Description()
      : schema_(DataType::structOf({{"col_name", stringType(), false},
                                    {"data_type", stringType(), false},
                                    {"comment", stringType()}})),
        rows_(schema_) {}
  void add(const std::string& name, const std::string& type, const std::optional<std::string>& comment = "") {
    rows_.addText(name);
    rows_.addText(type);
    rows_.addText(comment);
  }
  void addColumn(const StructField& field) {
    add(field.name, field.type->simpleString(), columnComment(field));
  }
  // As a view's columns are shown; those of a table hide what was declared of their strings.
  void addDeclaredColumn(const StructField& field) {
    const StringBounds bounds = stringBoundsOf(*field.type, field.metadata);
    add(field.name, bounds.empty() ? field.type->simpleString() : boundedTypeString(*field.type, bounds),
        columnComment(field));
  }
  CommandResult finish() { return {schema_, {rows_.finish()}}; }

 private:
  SchemaPtr schema_;
  RowBuilder rows_;
};

// "[a=1,password=*****]"
std::string propertyList(const std::map<std::string, std::string>& properties) {
  std::string list;
  for (const auto& [key, value] : properties)
    list += (list.empty() ? "" : ",") + (key + "=" + *shownSetting(key, value));
  return "[" + list + "]";
}

// As Java prints a date: "Sun Nov 29 22:59:44 UTC 2026".
std::string javaDate(int64_t milliseconds) {
  const date::sys_seconds time{std::chrono::seconds(milliseconds / 1000)};
  return date::format("%a %b %d %H:%M:%S UTC %Y", time);
}

void describeView(const TableEntry& view, Description* description) {
  description->add("Catalog", view.name.catalog);
  description->add("Database", view.name.schema);
  description->add("Table", view.name.table);
  description->add("Created Time", javaDate(view.createdMs));
  description->add("Last Access", "UNKNOWN");
  description->add("Type", "VIEW");
  if (view.comment) description->add("Comment", *view.comment);
  description->add("View Text", view.view->text);
  description->add("View Original Text", view.view->text);
  description->add("View Schema Mode", "COMPENSATION");
  description->add("View Catalog and Namespace", view.view->scope.catalog + "." + view.view->scope.schema);
  std::string columns;
  const SchemaPtr queried = parseSchemaJson(view.view->queryColumns);
  for (const StructField& field : queried->fields())
    columns += (columns.empty() ? "" : ", ") + quotedName({field.name});
  description->add("View Query Output Columns", "[" + columns + "]");
  if (!view.properties.empty()) description->add("Table Properties", propertyList(view.properties));
}

void describeEntry(const TableEntry& table, CommandSession& session, Description* description) {
  description->add("Catalog", table.name.catalog);
  description->add("Namespace", table.name.schema);
  description->add("Database", table.name.schema);
  description->add("Table", table.name.table);
  description->add("Type", std::string(tableKindName(table.kind)));
  if (const auto comment = tableComment(table, session)) description->add("Comment", *comment);
  description->add("Location", table.location);
  description->add("Provider", table.provider);
  if (table.kind == TableKind::Managed) description->add("Is_managed_location", "true");
  description->add("Table Properties", propertyList(tableProperties(table, session)));
}

CommandResult describeColumn(const sql::Name& name, const NameColumns& columns) {
  const int index = columns.schema->fieldIndex(name[0], /*caseSensitive=*/false);
  if (index < 0) {
    std::string proposal;
    for (const StructField& field : columns.schema->fields())
      proposal += (proposal.empty() ? "" : ", ") + quotedName({field.name});
    throw Error("UNRESOLVED_COLUMN.WITH_SUGGESTION",
                "There is no column " + quotedName(name) + "; there are " + proposal + ".",
                {{"objectName", quotedName(name)}, {"proposal", proposal}});
  }
  if (name.size() > 1) throw unsupported("DESCRIBE of a field inside a column");
  const StructField& field = columns.schema->fields()[static_cast<size_t>(index)];
  const SchemaPtr schema =
      DataType::structOf({{"info_name", stringType(), false}, {"info_value", stringType(), false}});
  RowBuilder rows(schema);
  rows.addText("col_name");
  rows.addText(field.name);
  rows.addText("data_type");
  rows.addText(field.type->simpleString());
  rows.addText("comment");
  rows.addText(columnComment(field).value_or("NULL"));
  return {schema, {rows.finish()}};
}

}  // namespace

CommandResult run(const sql::DescribeTable& statement, CommandSession& session) {
  const NameColumns columns = columnsOfName(statement.table, session);
  if (!statement.column.empty()) return describeColumn(statement.column, columns);
  Description description;
  const bool isView = columns.entry && columns.entry->isView();
  for (const StructField& field : columns.schema->fields()) {
    if (isView)
      description.addDeclaredColumn(field);
    else
      description.addColumn(field);
  }
  if (!columns.partitionedBy.empty()) {
    description.add("# Partition Information", "");
    description.add("# col_name", "data_type", "comment");
    for (const std::string& name : columns.partitionedBy) {
      description.addColumn(
          columns.schema
              ->fields()[static_cast<size_t>(columns.schema->fieldIndex(name, /*caseSensitive=*/false))]);
    }
  }
  if (statement.extended && columns.entry) {
    description.add("", "");
    description.add("# Detailed Table Information", "");
    if (columns.entry->isView())
      describeView(*columns.entry, &description);
    else
      describeEntry(*columns.entry, session, &description);
  }
  return description.finish();
}

CommandResult run(const sql::DescribeQuery& statement, CommandSession& session) {
  Description description;
  const SchemaPtr schema = schemaOf(*session.resolve(*statement.query));
  for (const StructField& field : schema->fields()) description.addColumn(field);
  return description.finish();
}

}  // namespace thalweg
