#include "session/statements.h"

#include <arrow/api.h>
#include <spark/connect/relations.pb.h>

#include "common/config_keys.h"
#include "common/error.h"
#include "common/secret.h"
#include "session/rows.h"
#include "sql/parser.h"

namespace thalweg {
namespace {

using sql::Statement;

// The table that `delta.`path`` or a bare path names.
std::shared_ptr<delta::DeltaLog> deltaLogOf(const sql::Name& name, const StatementContext& context) {
  if (name.size() == 2 && equalsIgnoreCase(name[0], "delta")) {
    return context.deltaLogs->get(context.formats->fileSystems().resolve(name[1]));
  }
  if (name.size() == 1 && name[0].find('/') != std::string::npos) {
    return context.deltaLogs->get(context.formats->fileSystems().resolve(name[0]));
  }
  throw unsupported("A table's name in this statement (use delta.`path`)");
}

StatementResult describeHistory(const sql::DescribeHistory& statement, const StatementContext& context) {
  const auto log = deltaLogOf(statement.table, context);
  log->require();
  const auto mapType = DataType::map(stringType(), stringType());
  const SchemaPtr schema = DataType::structOf(
      {{"version", longType()}, {"timestamp", timestampType()}, {"userId", stringType()}, {"userName", stringType()},
       {"operation", stringType()}, {"operationParameters", mapType},
       {"job", DataType::structOf({{"jobId", stringType()}, {"jobName", stringType()}, {"jobRunId", stringType()}, {"runId", stringType()},
                                   {"jobOwnerId", stringType()}, {"triggerType", stringType()}})},
       {"notebook", DataType::structOf({{"notebookId", stringType()}})}, {"clusterId", stringType()}, {"readVersion", longType()},
       {"isolationLevel", stringType()}, {"isBlindAppend", booleanType()}, {"operationMetrics", mapType}, {"userMetadata", stringType()},
       {"engineInfo", stringType()}});
  RowBuilder rows(schema);
  const auto limit = statement.limit ? std::optional<size_t>(static_cast<size_t>(*statement.limit)) : std::nullopt;
  for (const delta::HistoryEntry& entry : log->history(limit)) {
    rows.addLong(entry.version);
    rows.addLong(entry.timestampMs * 1000);
    rows.addText(entry.userId);
    rows.addText(entry.userName);
    rows.addText(entry.operation);
    rows.addMap(entry.operationParameters);
    rows.addNull();
    rows.addNull();
    rows.addNull();
    rows.addLong(entry.readVersion);
    rows.addText(entry.isolationLevel);
    rows.addBool(entry.isBlindAppend);
    rows.addMap(entry.operationMetrics);
    rows.addText(entry.userMetadata);
    rows.addText(entry.engineInfo);
  }
  return {schema, {rows.finish()}};
}

StatementResult describeDetail(const sql::DescribeDetail& statement, const StatementContext& context) {
  const auto log = deltaLogOf(statement.table, context);
  const delta::TableDetail detail = delta::describeDetail(*log->require());
  const auto texts = DataType::array(stringType());
  const SchemaPtr schema = DataType::structOf(
      {{"format", stringType()}, {"id", stringType()}, {"name", stringType()}, {"description", stringType()}, {"location", stringType()},
       {"createdAt", timestampType()}, {"lastModified", timestampType()}, {"partitionColumns", texts}, {"clusteringColumns", texts},
       {"numFiles", longType()}, {"sizeInBytes", longType()}, {"properties", DataType::map(stringType(), stringType())},
       {"minReaderVersion", intType()}, {"minWriterVersion", intType()}, {"tableFeatures", texts}});
  RowBuilder rows(schema);
  rows.addText(detail.format);
  rows.addText(detail.id);
  rows.addText(detail.name);
  rows.addText(detail.description);
  rows.addText(detail.location);
  rows.addLong(detail.createdAtMs ? std::optional(*detail.createdAtMs * 1000) : std::nullopt);
  rows.addLong(detail.lastModifiedMs * 1000);
  rows.addTexts(detail.partitionColumns);
  rows.addTexts(detail.clusteringColumns);
  rows.addLong(detail.numFiles);
  rows.addLong(detail.sizeInBytes);
  rows.addMap(detail.properties);
  rows.addInt(detail.minReaderVersion);
  rows.addInt(detail.minWriterVersion);
  rows.addTexts(detail.tableFeatures);
  return {schema, {rows.finish()}};
}

StatementResult settingRows(const std::vector<std::pair<std::string, std::string>>& settings) {
  const SchemaPtr schema = DataType::structOf({{"key", stringType(), false}, {"value", stringType(), false}});
  RowBuilder rows(schema);
  for (const auto& [key, value] : settings) {
    rows.addText(key);
    rows.addText(value);
  }
  return {schema, {rows.finish()}};
}

StatementResult setOrGet(const Statement& statement, const StatementContext& context) {
  if (const auto* set = std::get_if<sql::SetConf>(&statement)) {
    context.setSetting(set->key, set->value);
    return settingRows({{set->key, set->value}});
  }
  const auto& get = std::get<sql::GetConf>(statement);
  if (get.key) return settingRows({{*get.key, shownSetting(*get.key, context.getSetting(*get.key)).value_or("<undefined>")}});
  std::vector<std::pair<std::string, std::string>> all;
  for (const ConfigKey& key : configKeys()) all.emplace_back(key.name, context.getSetting(std::string(key.name)).value_or(""));
  return settingRows(all);
}

StatementResult createView(const sql::CreateView& statement, const StatementContext& context) {
  if (!statement.temporary || statement.global || !statement.query || !statement.columns.empty()) {
    throw unsupported("A view that is not CREATE [OR REPLACE] TEMPORARY VIEW name AS query");
  }
  if (statement.ifNotExists && context.hasView(statement.view.back())) return {};
  context.addView(statement.view.back(), context.resolve(*statement.query), statement.orReplace);
  return {};
}

StatementResult explainStatement(const sql::Explain& statement, const StatementContext& context) {
  const auto* query = std::get_if<sql::Query>(&statement.statement);
  if (!query) throw unsupported("EXPLAIN of a statement that is no query");
  const bool extended = equalsIgnoreCase(statement.mode, "extended") || equalsIgnoreCase(statement.mode, "cost");
  const SchemaPtr schema = DataType::structOf({{"plan", stringType(), false}});
  RowBuilder rows(schema);
  rows.addText(context.explain(context.resolve(*query->relation), extended));
  return {schema, {rows.finish()}};
}

}  // namespace

bool isQuery(const std::string& text) { return std::holds_alternative<sql::Query>(sql::parseStatement(text)); }

StatementResult runStatement(const std::string& text, const StatementContext& context) {
  const Statement statement = sql::parseStatement(text);
  if (std::holds_alternative<sql::SetConf>(statement) || std::holds_alternative<sql::GetConf>(statement)) return setOrGet(statement, context);
  if (const auto* history = std::get_if<sql::DescribeHistory>(&statement)) return describeHistory(*history, context);
  if (const auto* detail = std::get_if<sql::DescribeDetail>(&statement)) return describeDetail(*detail, context);
  if (const auto* view = std::get_if<sql::CreateView>(&statement)) return createView(*view, context);
  if (const auto* drop = std::get_if<sql::DropTable>(&statement); drop && drop->isView) {
    if (!context.dropView(drop->table.back()) && !drop->ifExists) {
      throw Error("TABLE_OR_VIEW_NOT_FOUND", "There is no view `" + drop->table.back() + "`; use DROP VIEW IF EXISTS.",
                  {{"relationName", "`" + drop->table.back() + "`"}});
    }
    return {};
  }
  if (const auto* explain = std::get_if<std::shared_ptr<sql::Explain>>(&statement)) return explainStatement(**explain, context);
  const size_t firstLetter = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  throw unsupported("The SQL statement '" + text.substr(firstLetter, 40) + (text.size() > firstLetter + 40 ? "…'" : "'"));
}

}  // namespace thalweg
