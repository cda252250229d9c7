// DESCRIBE HISTORY and DESCRIBE DETAIL: what a Delta table's log says.
#include "commands/rows.h"
#include "commands/statements.h"
#include "commands/table_target.h"
#include "common/error.h"
#include "common/secret.h"

namespace thalweg {

CommandResult run(const sql::DescribeHistory& statement, CommandSession& session) {
  const TableTarget target = requireTable(statement.table, session, "DESCRIBE HISTORY");
  const auto log = requireDelta(target, session, "DESCRIBE HISTORY");
  log->require();
  const auto mapType = DataType::map(stringType(), stringType());
  const SchemaPtr schema =
      DataType::structOf({{"version", longType()},
                          {"timestamp", timestampType()},
                          {"userId", stringType()},
                          {"userName", stringType()},
                          {"operation", stringType()},
                          {"operationParameters", mapType},
                          {"job", DataType::structOf({{"jobId", stringType()},
                                                      {"jobName", stringType()},
                                                      {"jobRunId", stringType()},
                                                      {"runId", stringType()},
                                                      {"jobOwnerId", stringType()},
                                                      {"triggerType", stringType()}})},
                          {"notebook", DataType::structOf({{"notebookId", stringType()}})},
                          {"clusterId", stringType()},
                          {"readVersion", longType()},
                          {"isolationLevel", stringType()},
                          {"isBlindAppend", booleanType()},
                          {"operationMetrics", mapType},
                          {"userMetadata", stringType()},
                          {"engineInfo", stringType()}});
  RowBuilder rows(schema);
  const auto limit =
      statement.limit ? std::optional<size_t>(static_cast<size_t>(*statement.limit)) : std::nullopt;
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

CommandResult run(const sql::DescribeDetail& statement, CommandSession& session) {
  const TableTarget target = requireTable(statement.table, session, "DESCRIBE DETAIL");
  const auto log = requireDelta(target, session, "DESCRIBE DETAIL");
  if (!log->update()) {
    throw Error("DELTA_MISSING_DELTA_TABLE", target.shownName() + " is no Delta table.",
                {{"tableName", target.shownName()}});
  }
  const delta::TableDetail detail = delta::describeDetail(*log->require());
  const auto texts = DataType::array(stringType());
  const SchemaPtr schema = DataType::structOf({{"format", stringType()},
                                               {"id", stringType()},
                                               {"name", stringType()},
                                               {"description", stringType()},
                                               {"location", stringType()},
                                               {"createdAt", timestampType()},
                                               {"lastModified", timestampType()},
                                               {"partitionColumns", texts},
                                               {"clusteringColumns", texts},
                                               {"numFiles", longType()},
                                               {"sizeInBytes", longType()},
                                               {"properties", DataType::map(stringType(), stringType())},
                                               {"minReaderVersion", intType()},
                                               {"minWriterVersion", intType()},
                                               {"tableFeatures", texts}});
  RowBuilder rows(schema);
  rows.addText(detail.format);
  rows.addText(detail.id);
  rows.addText(target.entry ? std::optional(target.entry->name.dotted()) : detail.name);
  rows.addText(detail.description);
  rows.addText(detail.location);
  rows.addLong(detail.createdAtMs ? std::optional(*detail.createdAtMs * 1000) : std::nullopt);
  rows.addLong(detail.lastModifiedMs * 1000);
  rows.addTexts(detail.partitionColumns);
  rows.addTexts(detail.clusteringColumns);
  rows.addLong(detail.numFiles);
  rows.addLong(detail.sizeInBytes);
  auto properties = detail.properties;
  for (auto& [key, value] : properties) value = *shownSetting(key, value);
  rows.addMap(properties);
  rows.addInt(detail.minReaderVersion);
  rows.addInt(detail.minWriterVersion);
  rows.addTexts(detail.tableFeatures);
  return {schema, {rows.finish()}};
}

}  // namespace thalweg
