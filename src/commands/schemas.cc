#include "commands/schemas.h"

#include "commands/drop_table.h"
#include "commands/rows.h"
#include "commands/statements.h"
#include "common/error.h"

namespace thalweg {
namespace {

void useCatalog(const std::string& name, CommandSession& session) {
  const std::string catalog = toLowerAscii(name);
  if (!session.catalog().hasCatalog(catalog)) {
    throw Error("CATALOG_NOT_FOUND",
                "There is no catalog " + quotedName({name}) + "; " +
                    quotedName({std::string(kSessionCatalog)}) + " is the one.",
                {{"catalogName", quotedName({name})}, {"config", "\"spark.sql.catalog." + name + "\""}});
  }
  NameScope names;
  names.catalog = catalog;
  session.setNames(names);
}

}  // namespace

void createSchema(const sql::CreateSchema& statement, CommandSession& session) {
  const SchemaName name = qualifySchema(statement.schema, session.names());
  checkNewName(statement.schema.back());
  if (statement.ifNotExists && session.catalog().findSchema(name)) return;
  SchemaEntry schema{name, {}, statement.comment, {}};
  schema.properties.insert(statement.properties.begin(), statement.properties.end());
  const std::string place =
      statement.location ? *statement.location : session.catalog().defaultLocation(name);
  schema.location = session.formats().fileSystems().resolve(place).uri();
  try {
    session.catalog().createSchema(schema);
  } catch (const Error& error) {
    // Another may have made it in the meantime.
    if (!statement.ifNotExists || error.condition() != "SCHEMA_ALREADY_EXISTS") throw;
  }
}

void dropSchema(const sql::DropSchema& statement, CommandSession& session) {
  const SchemaName name = qualifySchema(statement.schema, session.names());
  if (name.schema == kDefaultSchema) {
    throw Error("UNSUPPORTED_FEATURE.DROP_DATABASE", "The schema " + name.quoted() + " is always there.",
                {{"database", name.quoted()}});
  }
  const auto schema = session.catalog().findSchema(name);
  if (!schema && statement.ifExists) return;
  const Location folder =
      session.formats().fileSystems().resolve(session.catalog().requireSchema(name).location);
  if (statement.cascade) {
    for (const TableEntry& entry : session.catalog().tables(name)) dropEntry(entry, session);
  }
  session.catalog().dropSchema(name);
  if (folder.fileSystem->list(folder.path).empty()) folder.fileSystem->removeTree(folder.path);
}

void useSchema(const sql::UseSchema& statement, CommandSession& session) {
  const sql::Name& parts = statement.schema;
  if (statement.isCatalog) return useCatalog(parts.back(), session);
  if (parts.size() == 1 && session.catalog().hasCatalog(toLowerAscii(parts[0])))
    return useCatalog(parts[0], session);
  sql::Name below = parts;
  if (below.size() > 1 && session.catalog().hasCatalog(toLowerAscii(below[0]))) below.erase(below.begin());
  if (below.size() > 1) {
    below.insert(below.begin(), session.names().catalog);
    throw Error("SCHEMA_NOT_FOUND", "There is no schema " + quotedName(below) + ".",
                {{"schemaName", quotedName(below)}});
  }
  const SchemaEntry schema = session.catalog().requireSchema(qualifySchema(below, session.names()));
  session.setNames({schema.name.catalog, schema.name.schema});
}

CommandResult run(const sql::CreateSchema& statement, CommandSession& session) {
  createSchema(statement, session);
  return {};
}

CommandResult run(const sql::DropSchema& statement, CommandSession& session) {
  dropSchema(statement, session);
  return {};
}

CommandResult run(const sql::UseSchema& statement, CommandSession& session) {
  useSchema(statement, session);
  return {};
}

CommandResult run(const sql::DescribeSchema& statement, CommandSession& session) {
  const SchemaEntry schema =
      session.catalog().requireSchema(qualifySchema(statement.schema, session.names()));
  const SchemaPtr columns =
      DataType::structOf({{"info_name", stringType(), false}, {"info_value", stringType()}});
  RowBuilder rows(columns);
  const auto add = [&](const char* name, const std::string& value) {
    rows.addText(name);
    rows.addText(value);
  };
  add("Catalog Name", schema.name.catalog);
  add("Namespace Name", schema.name.schema);
  if (schema.comment) add("Comment", *schema.comment);
  add("Location", session.formats().fileSystems().resolve(schema.location).uri());
  if (statement.extended) {
    std::string properties;
    for (const auto& [key, value] : schema.properties)
      properties += (properties.empty() ? "" : ", ") + ("(" + key + "," + value + ")");
    add("Properties", properties.empty() ? "" : "(" + properties + ")");
  }
  return {columns, {rows.finish()}};
}

}  // namespace thalweg
