#include "sinks/delta/delta_batch_write.h"

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/json_text.h"
#include "delta/snapshot/protocol_choice.h"
#include "delta/snapshot/table_features.h"

namespace thalweg {
namespace {

const char* nameOf(SaveMode mode) {
  switch (mode) {
    case SaveMode::Append:
      return "Append";
    case SaveMode::Overwrite:
      return "Overwrite";
    case SaveMode::ErrorIfExists:
      return "ErrorIfExists";
    case SaveMode::Ignore:
      return "Ignore";
  }
  throw internalError("unknown save mode");
}

Error tableThere(const delta::DeltaLog& log) {
  return Error(
      "DELTA_PATH_EXISTS",
      "There is already a Delta table at " + log.table().uri() + ". Choose the mode append or overwrite.",
      {{"path", log.table().uri()}});
}

// What of the table an overwrite replaces. A table without partitions has one, the whole; a new schema comes
// with the partitions that the write names.
void settleOverwrite(SaveMode mode, const delta::Snapshot* snapshot, DeltaWriteOptions* options) {
  if (mode != SaveMode::Overwrite) {
    options->dynamicOverwrite = false;
    return;
  }
  if (options->replaceWhere && options->dynamicOverwrite) {
    throw Error("DELTA_REPLACE_WHERE_WITH_DYNAMIC_PARTITION_OVERWRITE",
                "An overwrite replaces the rows of replaceWhere or the partitions that rows come for "
                "(partitionOverwriteMode dynamic), not both: leave one of the options out.");
  }
  if (options->replaceWhere && options->overwriteSchema) {
    throw Error("DELTA_REPLACE_WHERE_IN_OVERWRITE",
                "An overwrite of some rows (replaceWhere) cannot replace the table's schema: leave "
                "overwriteSchema out.");
  }
  const bool partitioned =
      snapshot && !(options->overwriteSchema ? options->partitionBy : snapshot->partitionColumns()).empty();
  options->dynamicOverwrite = options->dynamicOverwrite && partitioned;
  if (options->dynamicOverwrite && options->overwriteSchema) {
    throw Error(
        "DELTA_OVERWRITE_SCHEMA_WITH_DYNAMIC_PARTITION_OVERWRITE",
        "An overwrite of the partitions that rows come for (partitionOverwriteMode dynamic) cannot replace "
        "the table's schema: set the option partitionOverwriteMode to static to replace all rows, or leave "
        "overwriteSchema out.");
  }
}

std::vector<std::pair<std::string, std::string>> parametersOf(SaveMode mode,
                                                              const DeltaWriteOptions& options) {
  std::vector<std::pair<std::string, std::string>> parameters = {
      {"mode", delta::jsonText(nameOf(mode))},
      {"partitionBy", delta::jsonText(toJsonText(nlohmann::json(options.partitionBy)))}};
  if (options.replaceWhere) parameters.emplace_back("predicate", delta::jsonText(*options.replaceWhere));
  if (options.dynamicOverwrite) parameters.emplace_back("isDynamicPartitionOverwrite", "true");
  if (mode == SaveMode::Overwrite && options.overwriteSchema)
    parameters.emplace_back("canOverwriteSchema", "true");
  if (options.mergeSchema) parameters.emplace_back("canMergeSchema", "true");
  return parameters;
}

// The newest version, or the one that the rows were read from: the commit is then held against all that came
// after.
delta::SnapshotPtr snapshotToWriteOn(delta::DeltaLog& log, const DeltaWriteOptions& options) {
  const delta::SnapshotPtr newest = log.update();
  if (!newest || !options.readVersion || *options.readVersion >= newest->version()) return newest;
  return log.snapshotAt(*options.readVersion);
}

}  // namespace

std::unique_ptr<DeltaWrite> beginDeltaWrite(std::shared_ptr<delta::DeltaLog> log, SaveMode mode,
                                            SchemaPtr schema, DeltaWriteOptions options,
                                            DeltaWriteEngine engine) {
  const delta::SnapshotPtr snapshot = snapshotToWriteOn(*log, options);
  if (snapshot && mode == SaveMode::Ignore) return nullptr;
  if (snapshot && mode == SaveMode::ErrorIfExists) throw tableThere(*log);
  settleOverwrite(mode, snapshot.get(), &options);
  DeltaWriteRequest request;
  request.schema = std::move(schema);
  request.overwrite = mode == SaveMode::Overwrite;
  if (options.txnAppId && options.txnVersion) {
    const auto recorded = snapshot ? snapshot->transactionVersion(*options.txnAppId) : std::nullopt;
    if (recorded && *recorded >= *options.txnVersion) return nullptr;
    request.transaction = delta::SetTransaction{*options.txnAppId, *options.txnVersion, std::nullopt};
  }
  request.operation.name = "WRITE";
  request.operation.parameters = parametersOf(mode, options);
  return std::make_unique<DeltaWrite>(std::move(log), snapshot, std::move(options), std::move(request),
                                      std::move(engine));
}

std::unique_ptr<DeltaWrite> beginDeltaCreation(std::shared_ptr<delta::DeltaLog> log,
                                               const TableCreation& creation, SchemaPtr schema,
                                               DeltaWriteOptions options, DeltaWriteEngine engine) {
  const delta::SnapshotPtr snapshot = snapshotToWriteOn(*log, options);
  if (snapshot && !creation.replace) throw tableThere(*log);
  // All rows of the old table go with it, whatever part of it rows come for.
  options.dynamicOverwrite = false;
  if (snapshot && options.replaceWhere) {
    throw unsupported(
        "the option replaceWhere of a statement that replaces a table and all its rows (leave the option "
        "out, "
        "or overwrite the table's rows)");
  }
  DeltaWriteRequest request;
  request.schema = std::move(schema);
  request.overwrite = snapshot != nullptr;
  request.newTable = {creation.comment, creation.properties, creation.declared};
  options.clusterBy = creation.clusterBy;
  std::vector<std::string> clusterBy;
  for (const auto& path : creation.clusterBy) clusterBy.push_back(fmt::format("{}", fmt::join(path, ".")));
  std::map<std::string, std::string> shown = creation.properties;
  std::erase_if(shown,
                [](const auto& property) { return property.first.starts_with(delta::kFeaturePrefix); });
  request.operation.name = creation.operation;
  request.operation.parameters = {
      {"partitionBy", delta::jsonText(toJsonText(nlohmann::json(options.partitionBy)))},
      {"clusterBy", delta::jsonText(toJsonText(nlohmann::json(clusterBy)))},
      {"description", creation.comment ? delta::jsonText(*creation.comment) : "null"},
      {"isManaged", delta::jsonText(creation.managed ? "true" : "false")},
      {"properties", delta::jsonText(toJsonText(nlohmann::json(shown)))}};
  return std::make_unique<DeltaWrite>(std::move(log), snapshot, std::move(options), std::move(request),
                                      std::move(engine));
}

}  // namespace thalweg
