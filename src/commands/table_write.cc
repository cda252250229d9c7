#include "commands/table_write.h"

#include "commands/file_tables.h"
#include "commands/new_table.h"
#include "commands/store_assignment.h"
#include "commands/table_target.h"
#include "common/error.h"
#include "delta/files/row_rules.h"
#include "delta/maintain/auto_compaction.h"

namespace thalweg {
namespace {

std::unique_ptr<BatchWrite> beginWrite(const TableTarget& target, const TableWrite& write,
                                       const SchemaPtr& columns, CommandSession& session) {
  const FormatProvider& provider = session.formats().find(target.provider);
  if (!provider.openBatchWrite) throw unsupported("Writing the format '" + provider.name + "' as a batch");
  if (!target.isDelta()) checkFileTarget(target, *write.rows, write.overwrite, session);
  WriteDefinition definition;
  definition.options = write.options;
  definition.options.erase("path");
  takeWriteSettings([&](const std::string& key) { return session.lookUp(key); }, &definition.options);
  definition.cancellation = &session.cancellation();
  definition.path = target.address;
  definition.partitionColumns = write.partitionedBy;
  definition.readVersion =
      versionReadOf(*write.rows, session.formats().fileSystems().resolve(target.address).uri());
  definition.timeZone = session.lookUp("spark.sql.session.timeZone").value_or("UTC");
  return provider.openBatchWrite(definition, session.formats().fileSystems(),
                                 write.overwrite ? SaveMode::Overwrite : SaveMode::Append, columns);
}

void refuseStream(const LogicalPtr& rows) {
  if (!rows->isStreaming()) return;
  throw Error("CALL_ON_STREAMING_DATASET_UNSUPPORTED",
              "`write` cannot be called on a streaming DataFrame; use writeStream.",
              {{"methodName", "`write`"}});
}

template <typename Assign>
void insertAssigned(const TableWrite& write, CommandSession& session, Assign assign) {
  refuseStream(write.rows);
  const TableTarget target = requireTable(write.table, session, "INSERT");
  const TableColumns columns = columnsOf(target, session);
  const SchemaPtr data = schemaOf(*write.rows);
  ColumnAssignment assignment = assign(*columns.schema, *data, target.shownName());
  if (!target.isDelta() && assignment.written->fields().size() > columns.schema->fields().size()) {
    throw Error("INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS",
                "The rows have columns that " + target.shownName() + ", a table of files, has not.",
                {{"tableName", target.shownName()}});
  }
  auto sink = beginWrite(target, write, assignment.written, session);
  const auto assigned =
      withStoreAssignment(std::move(sink), data, std::move(assignment), session.batchContext());
  session.run(write.rows, *assigned);
}

// True where there is a table to write into; a mode may have ended the matter.
enum class Existing { None, Done, Write };

Existing existingTable(const TableSave& save, CommandSession& session) {
  const auto entry = findEntry(save.write.table, session);
  if (!entry) return Existing::None;
  if (save.mode == SaveMode::Ignore) return Existing::Done;
  if (save.mode == SaveMode::ErrorIfExists) throw tableAlreadyExists(entry->name);
  if (entry->isView()) {
    throw Error("_LEGACY_ERROR_TEMP_1158", "Rows cannot be saved into the view " + entry->name.quoted() + ".",
                {});
  }
  if (!equalsIgnoreCase(entry->provider, session.formats().find(save.provider).name)) {
    throw Error("_LEGACY_ERROR_TEMP_1159",
                "The table " + entry->name.dotted() + " is one of " + entry->provider +
                    ", and the write says " + save.provider + ".",
                {{"tableName", entry->name.dotted()},
                 {"existingProvider", entry->provider},
                 {"specifiedProvider", save.provider}});
  }
  return Existing::Write;
}

// A path's table is known by its log.
bool pathHasTable(const sql::Name& name, CommandSession& session) {
  return session.deltaLog(session.formats().fileSystems().resolve(name[1]))->update() != nullptr;
}

void overwriteTable(const TableSave& save, CommandSession& session) {
  TableWrite write = save.write;
  write.overwrite = true;
  const TableTarget target = requireTable(write.table, session, "INSERT");
  if (!target.isDelta() && !equals(*columnsOf(target, session).schema, *asNullable(schemaOf(*write.rows))))
    throw unsupported("Overwriting " + target.shownName() + ", a table of " + target.provider +
                      " files, by rows with other columns (DROP TABLE first)");
  // As for a path, an overwrite's rows are not cast: the schema is held up, or replaced (overwriteSchema).
  const auto sink = beginWrite(target, write, schemaOf(*write.rows), session);
  session.run(write.rows, *sink);
}

void makeTable(const TableSave& save, CommandSession& session) {
  NewTable table;
  table.name = save.write.table;
  table.provider = save.provider;
  table.options = save.write.options;
  table.location = table.options.get("path");
  table.options.erase("path");
  table.partitionedBy = save.write.partitionedBy;
  table.query = save.write.rows;
  table.orReplace = save.mode == SaveMode::Overwrite;
  createTable(table, session);
}

}  // namespace

void takeWriteSettings(const delta::SettingLookup& setting, Options* options) {
  const auto take = [&](const std::string& key, const std::string& option) {
    const auto value = setting(key);
    if (value && !options->has(option)) options->set(option, *value);
  };
  takeFileWriteSettings(setting, options);
  take("spark.databricks.delta.optimizeWrite.enabled", "optimizeWrite");
  for (const char* key :
       {delta::kAutoCompactSetting, delta::kAutoCompactMinFilesSetting, delta::kAutoCompactMaxSizeSetting})
    take(key, key);
  // Rows that are named take precedence of a session's habit.
  if (!options->has("replaceWhere"))
    take("spark.sql.sources.partitionOverwriteMode", "partitionOverwriteMode");
}

std::optional<int64_t> versionReadOf(const LogicalNode& rows, const std::string& uri) {
  std::optional<int64_t> oldest;
  if (rows.kind() == LogicalKind::TableScan) {
    const auto version = static_cast<const LogicalTableScan&>(rows).table()->version();
    if (version && version->uri == uri) oldest = version->number;
  }
  for (const LogicalPtr& child : rows.children()) {
    const auto below = versionReadOf(*child, uri);
    if (below) oldest = std::min(oldest.value_or(*below), *below);
  }
  return oldest;
}

void insertByPosition(const TableWrite& write, CommandSession& session) {
  insertAssigned(write, session, assignByPosition);
}

void insertByName(const TableWrite& write, CommandSession& session) {
  insertAssigned(write, session, [](const Schema& columns, const Schema& data, const std::string&) {
    return assignByName(columns, data);
  });
}

void insertIntoList(const TableWrite& write, const std::vector<std::string>& list, CommandSession& session) {
  insertAssigned(write, session, [&](const Schema& columns, const Schema& data, const std::string& table) {
    ColumnAssignment assignment = assignToList(columns, data, list, table);
    for (const StructField& column : columns.fields()) {
      const bool given = assignment.written->fieldIndex(column.name, /*caseSensitive=*/false) >= 0;
      if (given || column.nullable || delta::isFilledIn(column)) continue;
      throw Error("DELTA_INSERT_COLUMN_MISMATCH",
                  "The list of columns lacks " + quotedName({column.name}) + ", which must not be null.",
                  {{"columnName", column.name}});
    }
    return assignment;
  });
}

void saveAsTable(const TableSave& save, CommandSession& session) {
  refuseStream(save.write.rows);
  if (isPathName(save.write.table)) {
    if (!pathHasTable(save.write.table, session)) return makeTable(save, session);
    if (save.mode == SaveMode::Ignore) return;
    if (save.mode == SaveMode::ErrorIfExists) {
      throw Error("DELTA_PATH_EXISTS", "There is already a Delta table at " + save.write.table[1] + ".",
                  {{"path", save.write.table[1]}});
    }
  } else {
    const Existing existing = existingTable(save, session);
    if (existing == Existing::Done) return;
    if (existing == Existing::None) return makeTable(save, session);
  }
  if (save.mode == SaveMode::Overwrite) return overwriteTable(save, session);
  insertByName(save.write, session);
}

}  // namespace thalweg
