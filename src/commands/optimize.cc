// OPTIMIZE, and REORG TABLE … APPLY (PURGE): a Delta table's rows in better files.
#include <charconv>
#include <limits>
#include <memory>

#include <arrow/api.h>
#include <nlohmann/json.hpp>

#include "commands/partition_condition.h"
#include "commands/statements.h"
#include "commands/table_target.h"
#include "common/error.h"
#include "common/json_text.h"
#include "common/options.h"
#include "delta/maintain/optimize.h"
#include "delta/maintain/optimize_operation.h"
#include "delta/snapshot/clustering.h"
#include "delta/snapshot/table_features.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

using delta::OptimizeReport;
using delta::OptimizeRequest;
using nlohmann::json;

SchemaPtr longs(std::initializer_list<const char*> names) {
  std::vector<StructField> fields;
  for (const char* name : names) fields.push_back({name, longType()});
  return DataType::structOf(std::move(fields));
}

SchemaPtr resultSchema() {
  const auto sizes = DataType::structOf({{"min", longType()},
                                         {"max", longType()},
                                         {"avg", DataType::primitive(TypeId::Double)},
                                         {"totalFiles", longType()},
                                         {"totalSize", longType()}});
  const auto orderFiles = longs({"num", "size"});
  const auto clusterFiles = longs({"numFiles", "size"});
  const auto order = DataType::structOf({{"strategyName", stringType()},
                                         {"inputCubeFiles", orderFiles},
                                         {"inputOtherFiles", orderFiles},
                                         {"inputNumCubes", longType()},
                                         {"mergedFiles", orderFiles},
                                         {"numOutputCubes", longType()},
                                         {"mergedNumCubes", longType()}});
  const auto clustering = DataType::structOf({{"inputZCubeFiles", clusterFiles},
                                              {"inputOtherFiles", clusterFiles},
                                              {"inputNumZCubes", longType()},
                                              {"mergedFiles", clusterFiles},
                                              {"numOutputZCubes", longType()}});
  const auto parallelism = longs({"maxClusterActiveParallelism", "minClusterActiveParallelism",
                                  "maxSessionActiveParallelism", "minSessionActiveParallelism"});
  const auto vectors = longs({"numDeletionVectorsRemoved", "numDeletionVectorRowsRemoved"});
  const auto metrics = DataType::structOf({{"numFilesAdded", longType()},
                                           {"numFilesRemoved", longType()},
                                           {"filesAdded", sizes},
                                           {"filesRemoved", sizes},
                                           {"partitionsOptimized", longType()},
                                           {"zOrderStats", order},
                                           {"clusteringStats", clustering},
                                           {"numBins", longType()},
                                           {"numBatches", longType()},
                                           {"totalConsideredFiles", longType()},
                                           {"totalFilesSkipped", longType()},
                                           {"preserveInsertionOrder", booleanType()},
                                           {"numFilesSkippedToReduceWriteAmplification", longType()},
                                           {"numBytesSkippedToReduceWriteAmplification", longType()},
                                           {"startTimeMs", longType()},
                                           {"endTimeMs", longType()},
                                           {"totalClusterParallelism", longType()},
                                           {"totalScheduledTasks", longType()},
                                           {"autoCompactParallelismStats", parallelism},
                                           {"deletionVectorStats", vectors},
                                           {"numTableColumns", longType()},
                                           {"numTableColumnsWithStats", longType()}});
  return DataType::structOf({{"path", stringType()}, {"metrics", metrics}});
}

json sizesOf(const std::vector<int64_t>& sizes, int64_t total) {
  json result = {{"totalFiles", sizes.size()}, {"totalSize", total}, {"avg", 0.0}};
  if (sizes.empty()) return result;
  result["min"] = sizes.front();
  result["max"] = sizes.back();
  result["avg"] = static_cast<double>(total) / static_cast<double>(sizes.size());
  return result;
}

json orderStatistics(const OptimizeReport& report) {
  const json none = {{"num", 0}, {"size", 0}};
  const json input = {{"num", report.otherInput.num}, {"size", report.otherInput.bytes}};
  return {{"strategyName", "all"}, {"inputCubeFiles", none}, {"inputOtherFiles", input},
          {"inputNumCubes", 0},    {"mergedFiles", input},   {"numOutputCubes", report.numGroups}};
}

json clusteringStatistics(const OptimizeReport& report) {
  const auto& cubes = report.cubeInput;
  const auto& others = report.otherInput;
  const bool any = report.numGroups > 0;
  return {{"inputZCubeFiles", {{"numFiles", cubes.num}, {"size", cubes.bytes}}},
          {"inputOtherFiles", {{"numFiles", others.num}, {"size", others.bytes}}},
          {"inputNumZCubes", report.numInputCubes},
          {"mergedFiles",
           {{"numFiles", any ? cubes.num + others.num : 0}, {"size", any ? cubes.bytes + others.bytes : 0}}},
          {"numOutputZCubes", report.numGroups}};
}

json metricsOf(const OptimizeReport& report, const OptimizeRequest& request, const delta::Snapshot& snapshot,
               int numTasks) {
  const delta::ReplacementReport& files = report.files;
  json metrics = {
      {"numFilesAdded", files.addedSizes.size()},
      {"numFilesRemoved", files.removedSizes.size()},
      {"filesAdded", sizesOf(files.addedSizes, files.addedBytes())},
      {"filesRemoved", sizesOf(files.removedSizes, files.removedBytes())},
      {"partitionsOptimized", report.partitionsOptimized},
      {"numBins", report.numGroups},
      {"numBatches", 1},
      {"totalConsideredFiles", report.numConsidered},
      {"totalFilesSkipped", report.numConsidered - static_cast<int64_t>(files.removedSizes.size())},
      {"preserveInsertionOrder", false},
      {"numFilesSkippedToReduceWriteAmplification", 0},
      {"numBytesSkippedToReduceWriteAmplification", 0},
      {"startTimeMs", report.startMs},
      {"endTimeMs", report.endMs},
      {"totalClusterParallelism", numTasks},
      {"totalScheduledTasks", report.numGroups},
      {"numTableColumns", snapshot.schema()->fields().size()},
      {"numTableColumnsWithStats", delta::numColumnsWithStatistics(snapshot)}};
  if (request.kind == OptimizeRequest::Kind::Curve) metrics["zOrderStats"] = orderStatistics(report);
  if (request.kind == OptimizeRequest::Kind::Cluster)
    metrics["clusteringStats"] = clusteringStatistics(report);
  if (files.numVectorsRemoved > 0) {
    metrics["deletionVectorStats"] = {{"numDeletionVectorsRemoved", files.numVectorsRemoved},
                                      {"numDeletionVectorRowsRemoved", report.numVectorRowsRemoved}};
  }
  return metrics;
}

// An object's members by their fields' names; an absent one is null.
void append(arrow::ArrayBuilder* builder, const json& value) {
  if (value.is_null()) return throwIfFailed(builder->AppendNull());
  switch (builder->type()->id()) {
    case arrow::Type::STRUCT: {
      auto* members = static_cast<arrow::StructBuilder*>(builder);
      throwIfFailed(members->Append());
      for (int i = 0; i < members->num_fields(); ++i) {
        const auto member = value.find(members->type()->field(i)->name());
        append(members->field_builder(i), member == value.end() ? json() : *member);
      }
      return;
    }
    case arrow::Type::INT64:
      return throwIfFailed(static_cast<arrow::Int64Builder*>(builder)->Append(value.get<int64_t>()));
    case arrow::Type::DOUBLE:
      return throwIfFailed(static_cast<arrow::DoubleBuilder*>(builder)->Append(value.get<double>()));
    case arrow::Type::BOOL:
      return throwIfFailed(static_cast<arrow::BooleanBuilder*>(builder)->Append(value.get<bool>()));
    default:
      return throwIfFailed(static_cast<arrow::StringBuilder*>(builder)->Append(value.get<std::string>()));
  }
}

std::shared_ptr<arrow::RecordBatch> rowOf(const Schema& schema, const json& row) {
  std::unique_ptr<arrow::ArrayBuilder> builder;
  throwIfFailed(arrow::MakeBuilder(arrow::default_memory_pool(), toArrowType(schema), &builder));
  append(builder.get(), row);
  return valueOrThrow(arrow::RecordBatch::FromStructArray(valueOrThrow(builder->Finish())));
}

// "134217728", "128mb", "1 g".
std::optional<int64_t> parseBytes(const std::string& text) {
  int64_t number = 0;
  const char* const last = text.data() + text.size();
  auto [end, status] = std::from_chars(text.data(), last, number);
  if (status != std::errc() || number <= 0) return std::nullopt;
  while (end != last && *end == ' ') ++end;
  std::string unit = toLowerAscii(std::string(end, last));
  if (unit.ends_with("ib")) unit.resize(unit.size() - 2);
  if (unit.size() == 2 && unit.back() == 'b') unit.pop_back();
  const std::string units = "bkmgt";
  const size_t power = unit.empty() ? 0 : units.find(unit);
  if (unit.size() > 1 || power == std::string::npos) return std::nullopt;
  for (size_t i = 0; i < power; ++i) {
    if (__builtin_mul_overflow(number, int64_t{1024}, &number)) return std::nullopt;
  }
  return number;
}

int64_t bytesSetting(const std::string& key, int64_t fallback, CommandSession& session) {
  const auto text = session.lookUp(key);
  if (!text) return fallback;
  if (const auto bytes = parseBytes(*text)) return *bytes;
  throw Error("INVALID_CONF_VALUE", "The setting " + key + " is '" + *text + "', which is no size in bytes.",
              {{"confName", key}, {"confValue", *text}, {"confType", "bytes"}});
}

double shareSetting(const std::string& key, double fallback, CommandSession& session) {
  const auto text = session.lookUp(key);
  if (!text) return fallback;
  double share = 0;
  const auto [end, status] = std::from_chars(text->data(), text->data() + text->size(), share);
  if (status == std::errc() && end == text->data() + text->size() && share >= 0 && share <= 1) return share;
  throw Error("INVALID_CONF_VALUE",
              "The setting " + key + " is '" + *text + "', which is no share from 0 to 1.",
              {{"confName", key}, {"confValue", *text}, {"confType", "double"}});
}

// The session's word first, then the table's, then Delta's default.
void setSizes(OptimizeRequest* request, const delta::Snapshot& snapshot, CommandSession& session) {
  if (const auto target = delta::tableProperty(snapshot.metadata(), "delta.targetFileSize")) {
    const auto bytes = parseBytes(*target);
    if (bytes) request->minFileBytes = request->maxFileBytes = *bytes;
  }
  const std::string prefix = "spark.databricks.delta.optimize.";
  request->minFileBytes = bytesSetting(prefix + "minFileSize", request->minFileBytes, session);
  request->maxFileBytes = bytesSetting(prefix + "maxFileSize", request->maxFileBytes, session);
  request->maxDeletedShare = shareSetting(prefix + "maxDeletedRowsRatio", request->maxDeletedShare, session);
}

struct MaintainedTable {
  TableTarget target;
  std::shared_ptr<delta::DeltaLog> log;
  delta::SnapshotPtr snapshot;
};

MaintainedTable requireMaintained(const sql::Name& name, CommandSession& session,
                                  const std::string& operation) {
  MaintainedTable table;
  table.target = requireTable(name, session, operation);
  table.log = requireDelta(table.target, session, operation);
  table.snapshot = table.log->update();
  if (table.snapshot) return table;
  throw Error("DELTA_MISSING_DELTA_TABLE", table.target.shownName() + " is no Delta table.",
              {{"tableName", table.target.shownName()}});
}

CommandResult runRequest(const MaintainedTable& table, const OptimizeRequest& request,
                         CommandSession& session) {
  TaskPool& pool = session.pool();
  const auto runTasks = [&](int count, const std::function<void(int)>& task) { pool.runAll(count, task); };
  const OptimizeReport report = delta::optimizeTable(table.log, table.snapshot, request, pool.numSlots(),
                                                     runTasks, &session.cancellation());
  const SchemaPtr schema = resultSchema();
  const json row = {{"path", table.log->table().uri()},
                    {"metrics", metricsOf(report, request, *table.snapshot, pool.numSlots())}};
  return {schema, {rowOf(*schema, row)}};
}

void checkClustering(const sql::Optimize& statement, bool clustered) {
  if (statement.full && !clustered) {
    throw Error("DELTA_OPTIMIZE_FULL_NOT_SUPPORTED",
                "OPTIMIZE … FULL is for tables with clustering columns (CLUSTER BY), and this one has none.");
  }
  if (!clustered) return;
  if (!statement.zorderBy.empty()) {
    std::string names;
    for (const sql::Name& name : statement.zorderBy) names += (names.empty() ? "" : ", ") + name.back();
    throw Error(
        "DELTA_CLUSTERING_WITH_ZORDER_BY",
        "A table with clustering columns is kept in their order: leave out ZORDER BY (" + names + ").",
        {{"zOrderBy", names}});
  }
  if (statement.condition) {
    throw Error(
        "DELTA_CLUSTERING_WITH_PARTITION_PREDICATE",
        "A table with clustering columns has no partitions to choose from: leave out the condition '" +
            statement.conditionText + "'.",
        {{"predicates", statement.conditionText}});
  }
}

}  // namespace

CommandResult run(const sql::Optimize& statement, CommandSession& session) {
  const MaintainedTable table = requireMaintained(statement.table, session, "OPTIMIZE");
  const auto clusterBy = delta::clusteringColumns(*table.snapshot);
  checkClustering(statement, !clusterBy.empty());
  OptimizeRequest request;
  setSizes(&request, *table.snapshot, session);
  const auto condition = statement.condition
                             ? std::make_shared<PartitionCondition>(*table.snapshot, statement.table,
                                                                    *statement.condition, session)
                             : nullptr;
  if (condition)
    request.selects = [condition](const delta::AddFile& file) { return condition->matches(file); };
  if (!statement.zorderBy.empty()) request.kind = OptimizeRequest::Kind::Curve;
  if (!clusterBy.empty()) request.kind = OptimizeRequest::Kind::Cluster;
  request.columns = statement.zorderBy;
  request.full = statement.full;
  request.checkStatistics = !equalsIgnoreCase(
      session.lookUp("spark.databricks.delta.optimize.zorder.checkStatsCollection.enabled").value_or("true"),
      "false");
  delta::OptimizeWords words{{}, statement.zorderBy, clusterBy, /*isAuto=*/false, statement.full};
  if (condition) words.predicates.push_back(condition->text());
  request.operation = delta::optimizeOperation(words);
  return runRequest(table, request, session);
}

CommandResult run(const sql::Reorg& statement, CommandSession& session) {
  const MaintainedTable table = requireMaintained(statement.table, session, "REORG TABLE");
  OptimizeRequest request;
  request.kind = OptimizeRequest::Kind::Purge;
  setSizes(&request, *table.snapshot, session);
  const auto condition = statement.condition
                             ? std::make_shared<PartitionCondition>(*table.snapshot, statement.table,
                                                                    *statement.condition, session)
                             : nullptr;
  if (condition)
    request.selects = [condition](const delta::AddFile& file) { return condition->matches(file); };
  json predicates = json::array();
  if (condition) predicates.push_back(condition->text());
  request.operation.name = "REORG";
  request.operation.parameters = {{"predicate", delta::jsonText(toJsonText(predicates))},
                                  {"applyPurge", "true"}};
  return runRequest(table, request, session);
}

}  // namespace thalweg
