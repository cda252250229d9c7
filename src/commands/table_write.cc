#include "commands/table_write.h"

#include "commands/file_tables.h"
#include "commands/new_table.h"
#include "commands/overwrite_condition.h"
#include "commands/store_assignment.h"
#include "commands/table_target.h"
#include "common/error.h"
#include "delta/files/row_rules.h"
#include "delta/maintain/auto_compaction.h"

namespace thalweg {
namespace {

void takeSetting(const std::string& key, const std::string& option, const SettingLookup& setting,
                 Options* options) {
  const auto value = setting(key);
  if (value && !options->has(option)) options->set(option, *value);
}

void takeMergeSchema(const SettingLookup& setting, Options* options) {
  takeSetting("spark.databricks.delta.schema.autoMerge.enabled", "mergeSchema", setting, options);
}

// Which rows an overwrite replaces. False for one of no rows, and for an append.
bool takeReplaced(const TableWrite& write, const TableTarget& target, const Schema& table,
                  CommandSession& session, WriteDefinition* definition) {
  if (!write.replaced) return write.overwrite;
  definition->replaced = replacedRows(write.replaced, target, table, session);
  if (!definition->replaced) return true;
  if (write.options.has("replaceWhere")) {
    throw Error(
        "DELTA_REPLACE_WHERE_IN_OVERWRITE",
        "overwrite(condition) says itself which rows are replaced: leave the option replaceWhere out.");
  }
  // Rows that are named take precedence of a session's habit.
  definition->options.set("partitionOverwriteMode", "static");
  if (!replacesNothing(*definition->replaced)) return true;
  definition->replaced.reset();
  return false;
}

// `columns`: of the rows; `table`: its own.
std::unique_ptr<BatchWrite> beginWrite(const TableTarget& target, const TableWrite& write,
                                       const SchemaPtr& columns, const Schema& table,
                                       CommandSession& session) {
  const FormatProvider& provider = session.formats().find(target.provider);
  if (!provider.openBatchWrite) throw unsupported("Writing the format '" + provider.name + "' as a batch");
  if (!target.isDelta()) checkFileTarget(target, *write.rows, write.overwrite, session);
  WriteDefinition definition;
  definition.options = write.options;
  definition.options.erase("path");
  const bool overwrite = takeReplaced(write, target, table, session, &definition);
  takeWriteSettings([&](const std::string& key) { return session.lookUp(key); }, &definition.options);
  definition.cancellation = &session.cancellation();
  definition.path = target.address;
  definition.partitionColumns = write.partitionedBy;
  definition.clusterBy = write.clusterBy;
  definition.readVersion =
      versionReadOf(*write.rows, session.formats().fileSystems().resolve(target.address).uri());
  definition.timeZone = session.lookUp("spark.sql.session.timeZone").value_or("UTC");
  return provider.openBatchWrite(definition, session.formats().fileSystems(),
                                 overwrite ? SaveMode::Overwrite : SaveMode::Append, columns);
}

void refuseStream(const LogicalPtr& rows) {
  if (!rows->isStreaming()) return;
  throw Error("CALL_ON_STREAMING_DATASET_UNSUPPORTED",
              "`write` cannot be called on a streaming DataFrame; use writeStream.",
              {{"methodName", "`write`"}});
}

bool mergesSchema(const TableWrite& write, CommandSession& session) {
  Options options = write.options;
  takeMergeSchema([&](const std::string& key) { return session.lookUp(key); }, &options);
  return options.getBool("mergeSchema", false);
}

template <typename Assign>
void insertAssigned(const TableWrite& write, CommandSession& session, Assign assign) {
  refuseStream(write.rows);
  const TableTarget target = requireTable(write.table, session, "INSERT");
  const TableColumns columns = columnsOf(target, session);
  const SchemaPtr data = schemaOf(*write.rows);
  const bool merges = mergesSchema(write, session);
  ColumnAssignment assignment = assign(*columns.schema, *data, target.shownName(), merges);
  if (columns.widens && merges) takeWiderTypes(*data, &assignment);
  if (!target.isDelta() && assignment.written->fields().size() > columns.schema->fields().size()) {
    throw Error("INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS",
                "The rows have columns that " + target.shownName() + ", a table of files, has not.",
                {{"tableName", target.shownName()}});
  }
  auto sink = beginWrite(target, write, assignment.written, *columns.schema, session);
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

void makeTable(const TableSave& save, CommandSession& session) {
  NewTable table;
  table.name = save.write.table;
  table.provider = save.provider;
  table.options = save.write.options;
  table.location = table.options.get("path");
  table.options.erase("path");
  table.partitionedBy = save.write.partitionedBy;
  table.clusterBy = save.write.clusterBy;
  table.query = save.write.rows;
  table.orReplace = save.mode == SaveMode::Overwrite;
  createTable(table, session);
}

}  // namespace

void takeOptimizeWrite(const SettingLookup& setting, Options* options) {
  takeSetting("spark.databricks.delta.optimizeWrite.enabled", "optimizeWrite", setting, options);
}

void takeWriteSettings(const SettingLookup& setting, Options* options) {
  takeOptimizeWrite(setting, options);
  takeMergeSchema(setting, options);
  takeFileWriteSettings(setting, options);
  for (const char* key :
       {delta::kAutoCompactSetting, delta::kAutoCompactMinFilesSetting, delta::kAutoCompactMaxSizeSetting})
    takeSetting(key, key, setting, options);
  // Rows that are named take precedence of a session's habit.
  if (!options->has("replaceWhere"))
    takeSetting("spark.sql.sources.partitionOverwriteMode", "partitionOverwriteMode", setting, options);
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
  insertAssigned(write, session, [](const Schema& columns, const Schema& data, const std::string&, bool) {
    return assignByName(columns, data);
  });
}

void writeByName(const TableWrite& write, CommandSession& session) {
  const auto refuseView = [](const std::string& name) {
    throw Error("VIEW_WRITE_NOT_ALLOWED", name + " is a view: rows go into tables.", {{"name", name}});
  };
  if (findTemporaryView(write.table, session)) refuseView(quotedName(write.table));
  const auto entry = isPathName(write.table) ? std::nullopt : findEntry(write.table, session);
  if (entry && entry->isView()) refuseView(entry->name.quoted());
  if (entry && !isDeltaProvider(entry->provider)) {
    throw Error("_LEGACY_ERROR_TEMP_1012",
                "writeTo() writes into Delta tables, and " + entry->name.quoted() + " is one of " +
                    entry->provider + ".",
                {{"identifier", entry->name.quoted()}});
  }
  insertByName(write, session);
}

void overwriteTable(TableWrite write, CommandSession& session) {
  write.overwrite = true;
  const TableTarget target = requireTable(write.table, session, "INSERT");
  const SchemaPtr table = columnsOf(target, session).schema;
  if (!target.isDelta() && !equals(*table, *asNullable(schemaOf(*write.rows))))
    throw unsupported("Overwriting " + target.shownName() + ", a table of " + target.provider +
                      " files, by rows with other columns (DROP TABLE first)");
  const auto sink = beginWrite(target, write, schemaOf(*write.rows), *table, session);
  session.run(write.rows, *sink);
}

void insertIntoList(const TableWrite& write, const std::vector<std::string>& list, CommandSession& session) {
  insertAssigned(
      write, session, [&](const Schema& columns, const Schema& data, const std::string& table, bool) {
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
  if (save.mode == SaveMode::Overwrite) return overwriteTable(save.write, session);
  insertByName(save.write, session);
}

}  // namespace thalweg
