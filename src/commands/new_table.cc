#include "commands/new_table.h"

#include <algorithm>
#include <memory>
#include <set>

#include "catalog/table_folder.h"
#include "commands/table_properties.h"
#include "commands/table_target.h"
#include "commands/table_write.h"
#include "common/error.h"
#include "delta/files/row_rules.h"
#include "delta/snapshot/table_properties.h"
#include "types/char_varchar.h"
#include "types/ddl.h"
#include "types/schema_json.h"

namespace thalweg {
namespace {

// What a table's history calls its making.
std::string operationName(const NewTable& table) {
  const std::string verb = table.mustExist   ? "REPLACE TABLE"
                           : table.orReplace ? "CREATE OR REPLACE TABLE"
                                             : "CREATE TABLE";
  return table.query ? verb + " AS SELECT" : verb;
}

void checkColumns(const Schema& columns, const std::vector<std::string>& partitionedBy) {
  std::set<std::string> seen;
  for (const StructField& field : columns.fields()) {
    if (seen.insert(toLowerAscii(field.name)).second) continue;
    throw Error("COLUMN_ALREADY_EXISTS", "The column " + quotedName({field.name}) + " is given twice.",
                {{"columnName", quotedName({toLowerAscii(field.name)})}});
  }
  for (const std::string& name : partitionedBy) {
    const int index = columns.fieldIndex(name, /*caseSensitive=*/false);
    if (index < 0) {
      throw Error("_LEGACY_ERROR_TEMP_3060", "There is no column " + name + " to partition by.",
                  {{"columnName", name}, {"schema", toDdl(columns)}});
    }
    const DataType& type = *columns.fields()[static_cast<size_t>(index)].type;
    if (!type.isNested() && type.id() != TypeId::Variant) continue;
    throw Error(
        "INVALID_PARTITION_COLUMN_DATA_TYPE",
        "A table cannot be partitioned by " + quotedName({name}) + " of type " + type.sqlString() + ".",
        {{"type", "\"" + type.sqlString() + "\""}});
  }
}

std::map<std::string, std::string> checkedProperties(const NewTable& table, CommandSession& session) {
  std::map<std::string, std::string> properties;
  for (const auto& [given, value] : table.properties)
    properties[checkedPropertyName(given, value, session)] = value;
  delta::checkRetentions(properties);
  return properties;
}

// A table of files has rows and columns, and nothing that would have to be kept up with them.
void checkFileTable(const NewTable& table, bool replace) {
  const std::string kind = "a table of " + table.provider + " files";
  if (replace) throw unsupported("Replacing " + kind + " (DROP TABLE first)");
  if (!table.partitionedBy.empty()) {
    throw unsupported(
        "PARTITIONED BY of " + kind +
        " (a Delta table has it; over folders k=v that are there, leave it out: they say the columns)");
  }
  if (!table.clusterBy.empty()) throw unsupported("CLUSTER BY of " + kind);
  if (!table.columns) return;
  for (const StructField& field : table.columns->fields()) {
    if (delta::isFilledIn(field)) throw unsupported("Columns with a default or generated values in " + kind);
    if (hasBounds(stringBoundsOf(*field.type, field.metadata)))
      throw unsupported("CHAR and VARCHAR columns of " + kind);
  }
}

// The folder with the query's rows, or without any.
void writeFileTable(const NewTable& table, const FormatProvider& provider, const std::string& address,
                    CommandSession& session) {
  const Location folder = session.formats().fileSystems().resolve(address);
  if (!table.query) return folder.fileSystem->makeDirectories(folder.path);
  if (!folder.fileSystem->list(folder.path).empty())
    throw unsupported("Making a table of a query's rows in a folder that is not empty, " + folder.uri());
  const SchemaPtr columns = schemaOf(*table.query);
  checkColumns(*columns, table.partitionedBy);
  WriteDefinition definition;
  definition.options = table.options;
  definition.path = address;
  definition.timeZone = session.lookUp("spark.sql.session.timeZone").value_or("UTC");
  takeWriteSettings([&](const std::string& key) { return session.lookUp(key); }, &definition.options);
  definition.cancellation = &session.cancellation();
  const auto write =
      provider.openBatchWrite(definition, session.formats().fileSystems(), SaveMode::Append, columns);
  session.run(table.query, *write);
}

// Runs the making of the table's files and log.
void writeTable(const NewTable& table, const std::string& address, bool managed, bool replace,
                CommandSession& session) {
  const FormatProvider& provider = session.formats().find(table.provider);
  if (!provider.openBatchWrite || !provider.openTable) {
    throw unsupported("Making a table of the format '" + provider.name +
                      "' (USING delta, or the setting spark.sql.sources.default=delta)");
  }
  if (!isDeltaProvider(provider.name)) {
    checkFileTable(table, replace);
    return writeFileTable(table, provider, address, session);
  }
  WriteDefinition definition;
  definition.options = table.options;
  definition.path = address;
  definition.partitionColumns = table.partitionedBy;
  definition.timeZone = session.lookUp("spark.sql.session.timeZone").value_or("UTC");
  takeWriteSettings([&](const std::string& key) { return session.lookUp(key); }, &definition.options);
  definition.cancellation = &session.cancellation();
  definition.creation =
      TableCreation{operationName(table), table.comment, checkedProperties(table, session), managed, replace,
                    table.clusterBy,      !table.query};
  if (table.query)
    definition.readVersion =
        versionReadOf(*table.query, session.formats().fileSystems().resolve(address).uri());
  SchemaPtr columns = table.columns ? table.columns : DataType::structOf({});
  if (table.query) columns = schemaOf(*table.query);
  checkColumns(*columns, table.partitionedBy);
  const auto write =
      provider.openBatchWrite(definition, session.formats().fileSystems(), SaveMode::ErrorIfExists, columns);
  if (table.query) {
    session.run(table.query, *write);
  } else {
    write->commit();
  }
}

// A declaration over a table that is there must say what the table says.
void checkDeclaration(const NewTable& table, const delta::Snapshot& there) {
  const std::string uri = there.table().uri();
  if (table.columns && !table.columns->fields().empty()) {
    if (!equals(*table.columns, *there.schema(), /*compareNullability=*/true)) {
      throw Error("DELTA_CREATE_TABLE_SCHEME_MISMATCH",
                  "The Delta table at " + uri + " has the columns " + toDdl(*there.schema()) +
                      ", and the statement declares " + toDdl(*table.columns) + ": leave the columns out.",
                  {{"path", uri},
                   {"specifiedSchema", toDdl(*table.columns)},
                   {"existingSchema", toDdl(*there.schema())},
                   {"schemaDifferences", ""}});
    }
  }
  const bool declares = (table.columns && !table.columns->fields().empty()) || !table.partitionedBy.empty();
  const auto& partitions = there.partitionColumns();
  const bool same =
      std::equal(partitions.begin(), partitions.end(), table.partitionedBy.begin(), table.partitionedBy.end(),
                 [](const auto& left, const auto& right) { return equalsIgnoreCase(left, right); });
  if (declares && !same) {
    throw Error("DELTA_CREATE_TABLE_WITH_DIFFERENT_PARTITIONING",
                fmt::format("The Delta table at {} is partitioned by [{}], and the statement says [{}].", uri,
                            fmt::join(partitions, ", "), fmt::join(table.partitionedBy, ", ")),
                {{"path", uri},
                 {"specifiedColumns", fmt::format("{}", fmt::join(table.partitionedBy, ", "))},
                 {"existingColumns", fmt::format("{}", fmt::join(partitions, ", "))}});
  }
  for (const auto& [key, value] : table.properties) {
    const auto it = there.metadata().configuration.find(key);
    if (it != there.metadata().configuration.end() && it->second == value) continue;
    throw Error("DELTA_CREATE_TABLE_WITH_DIFFERENT_PROPERTY",
                "The Delta table at " + uri + " does not have the property " + key + " = " + value +
                    " that the statement declares.",
                {{"path", uri}, {"specifiedProperties", key + "=" + value}, {"existingProperties", ""}});
  }
}

// A table over files that are there, or new ones in an empty folder. True where the name is all there is to
// add.
bool adoptsTable(const NewTable& table, const std::string& shownName, const Location& folder,
                 CommandSession& session) {
  if (!isDeltaProvider(table.provider))
    return !table.query && (!table.columns || folder.fileSystem->stat(folder.path));
  const auto snapshot = session.deltaLog(folder)->update();
  if (snapshot && !table.query) {
    checkDeclaration(table, *snapshot);
    return true;
  }
  if (snapshot || !folder.fileSystem->list(folder.path).empty()) {
    throw Error("DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION",
                "The table " + shownName + " cannot be made: there are files in " + folder.uri() +
                    (snapshot ? ", those of a Delta table." : "."),
                {{"tableId", shownName}, {"tableLocation", folder.uri()}});
  }
  return false;
}

// Rows that are named take the place of others in the table that is there, which stays what it is; as Delta
// has it, it gets their new columns.
void replaceRows(const NewTable& table, CommandSession& session) {
  TableWrite write{table.name, table.query, table.options};
  write.options.set("mergeSchema", "true");
  write.partitionedBy = table.partitionedBy;
  write.clusterBy = table.clusterBy;
  overwriteTable(std::move(write), session);
}

bool replacesRows(const NewTable& table) {
  return table.query && table.options.has("replaceWhere");
}

// CREATE TABLE delta.`/path`: no name to add.
bool createAtPath(const NewTable& table, CommandSession& session) {
  NewTable pathTable = table;
  pathTable.provider = session.formats().find(table.name[0]).name;
  if (!isDeltaProvider(pathTable.provider))
    throw unsupported("CREATE TABLE of a path of " + pathTable.provider +
                      " files (give the table a name and a LOCATION)");
  const std::string& address = table.name[1];
  const Location folder = session.formats().fileSystems().resolve(address);
  const auto snapshot = session.deltaLog(folder)->update();
  if (snapshot && table.ifNotExists) return false;
  if (snapshot && (table.orReplace || table.mustExist)) {
    if (replacesRows(table))
      replaceRows(table, session);
    else
      writeTable(pathTable, address, /*managed=*/false, /*replace=*/true, session);
    return true;
  }
  if (snapshot) {
    throw Error("TABLE_OR_VIEW_ALREADY_EXISTS",
                "There is a Delta table at " + folder.uri() + " already: use IF NOT EXISTS or OR REPLACE.",
                {{"relationName", quotedName(table.name)}});
  }
  if (table.mustExist) throw nameNotFound(table.name);
  if (!adoptsTable(pathTable, quotedName(table.name), folder, session))
    writeTable(pathTable, address, false, false, session);
  return true;
}

bool replaceTable(const NewTable& table, const TableEntry& entry, CommandSession& session) {
  if (entry.isView()) {
    throw Error("DELTA_CANNOT_WRITE_INTO_VIEW",
                entry.name.shortQuoted() + " is a view: drop it first, or choose another name.",
                {{"table", entry.name.shortQuoted()}});
  }
  if (!equalsIgnoreCase(entry.provider, table.provider))
    throw unsupported("Replacing a table of " + entry.provider + " by one of " + table.provider);
  if (table.location) {
    const auto& files = session.formats().fileSystems();
    if (files.resolve(*table.location).uri() != files.resolve(entry.location).uri())
      throw unsupported("Replacing a table by one at another location");
  }
  // A DROP that runs meanwhile must not take the files away under the new rows.
  const FolderLock lock(session.catalog(), entry.location);
  if (!session.catalog().find(entry.name)) throw tableNotFound(entry.name);
  if (replacesRows(table)) {
    replaceRows(table, session);
    return true;
  }
  writeTable(table, entry.location, entry.kind == TableKind::Managed, /*replace=*/true, session);
  return true;
}

TableEntry newEntry(const NewTable& table, const TableName& name, const std::string& location) {
  TableEntry entry;
  entry.name = name;
  entry.kind = table.location ? TableKind::External : TableKind::Managed;
  entry.provider = toLowerAscii(table.provider);
  entry.location = location;
  if (isDeltaProvider(table.provider)) return entry;
  entry.comment = table.comment;
  entry.properties = table.properties;
  for (const auto& [name, option] : table.options.entries()) entry.properties[option.name] = option.value;
  if (table.columns) entry.columns = toSchemaJson(*asNullable(table.columns));
  if (table.query) entry.columns = toSchemaJson(*asNullable(schemaOf(*table.query)));
  return entry;
}

void createManaged(const NewTable& table, const TableName& name, const Location& folder,
                   CommandSession& session) {
  if (!isDeltaProvider(table.provider) && !table.columns && !table.query) {
    throw Error("UNABLE_TO_INFER_SCHEMA",
                "A new table of " + table.provider + " files needs its columns said.",
                {{"format", table.provider}});
  }
  NewTableFolder claimed(session.catalog(), name, folder);
  writeTable(table, folder.uri(), /*managed=*/true, /*replace=*/false, session);
  session.catalog().create(newEntry(table, name, folder.uri()));
  claimed.keep();
}

void createExternal(const NewTable& table, const TableName& name, const Location& folder,
                    CommandSession& session) {
  const FolderLock lock(session.catalog(), folder.uri());
  if (session.catalog().find(name)) throw tableAlreadyExists(name);
  // The rows of a statement that died are nobody's table.
  finishFolder(session.catalog(), folder);
  if (!adoptsTable(table, name.shortQuoted(), folder, session))
    writeTable(table, folder.uri(), /*managed=*/false, /*replace=*/false, session);
  else if (!isDeltaProvider(table.provider))
    checkFileTable(table, /*replace=*/false);
  const TableEntry entry = newEntry(table, name, folder.uri());
  // What cannot be read is said now, not by its first reader.
  if (!isDeltaProvider(table.provider)) columnsOf({entry.provider, entry.location, entry}, session);
  session.catalog().create(entry);
}

// A place as written; a relative one lies below the schema's, as in Spark.
std::string placeOf(const NewTable& table, const TableName& name, const SchemaEntry& schema) {
  if (!table.location) return schema.location + "/" + name.table;
  const bool relative = !table.location->empty() && table.location->front() != '/' &&
                        table.location->find(':') == std::string::npos;
  return relative ? schema.location + "/" + *table.location : *table.location;
}

}  // namespace

bool createTable(const NewTable& table, CommandSession& session) {
  if (isPathName(table.name)) return createAtPath(table, session);
  const TableName name = qualifyTable(table.name, session.names());
  if (const auto entry = session.catalog().find(name)) {
    if (table.ifNotExists) return false;
    if (!table.orReplace && !table.mustExist) throw tableAlreadyExists(name);
    return replaceTable(table, *entry, session);
  }
  const SchemaEntry schema = session.catalog().requireSchema(name.schemaName());
  if (table.mustExist) throw tableNotFound(name);
  checkNewName(table.name.back());
  const std::string& provider = session.formats().find(table.provider).name;
  const Location folder = session.formats().fileSystems().resolve(placeOf(table, name, schema));
  NewTable made = table;
  made.provider = provider;
  if (table.location) {
    createExternal(made, name, folder, session);
  } else {
    createManaged(made, name, folder, session);
  }
  return true;
}

}  // namespace thalweg
