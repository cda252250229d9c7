#include "sinks/delta/delta_batch_write.h"

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/json_text.h"

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

}  // namespace

std::unique_ptr<DeltaWrite> beginDeltaWrite(std::shared_ptr<delta::DeltaLog> log, SaveMode mode,
                                            SchemaPtr schema, DeltaWriteOptions options,
                                            delta::CastFunction cast) {
  const delta::SnapshotPtr snapshot = log->update();
  if (snapshot && mode == SaveMode::Ignore) return nullptr;
  if (snapshot && mode == SaveMode::ErrorIfExists) throw tableThere(*log);
  if (snapshot && mode == SaveMode::Overwrite && options.dynamicOverwrite &&
      !snapshot->partitionColumns().empty()) {
    throw unsupported(
        "overwriting single partitions (the option partitionOverwriteMode or the setting "
        "spark.sql.sources.partitionOverwriteMode is dynamic)");
  }
  DeltaWriteRequest request;
  request.schema = std::move(schema);
  request.overwrite = mode == SaveMode::Overwrite;
  if (options.txnAppId && options.txnVersion) {
    const auto recorded = snapshot ? snapshot->transactionVersion(*options.txnAppId) : std::nullopt;
    if (recorded && *recorded >= *options.txnVersion) return nullptr;
    request.transaction = delta::SetTransaction{*options.txnAppId, *options.txnVersion, std::nullopt};
  }
  request.operation.name = "WRITE";
  request.operation.parameters = {
      {"mode", delta::jsonText(nameOf(mode))},
      {"partitionBy", delta::jsonText(toJsonText(nlohmann::json(options.partitionBy)))}};
  return std::make_unique<DeltaWrite>(std::move(log), snapshot, std::move(options), std::move(request),
                                      std::move(cast));
}

std::unique_ptr<DeltaWrite> beginDeltaCreation(std::shared_ptr<delta::DeltaLog> log,
                                               const TableCreation& creation, SchemaPtr schema,
                                               DeltaWriteOptions options) {
  const delta::SnapshotPtr snapshot = log->update();
  if (snapshot && !creation.replace) throw tableThere(*log);
  DeltaWriteRequest request;
  request.schema = std::move(schema);
  request.overwrite = snapshot != nullptr;
  request.newTable = {creation.comment, creation.properties, creation.declared};
  request.operation.name = creation.operation;
  request.operation.parameters = {
      {"partitionBy", delta::jsonText(toJsonText(nlohmann::json(options.partitionBy)))},
      {"clusterBy", delta::jsonText("[]")},
      {"description", creation.comment ? delta::jsonText(*creation.comment) : "null"},
      {"isManaged", delta::jsonText(creation.managed ? "true" : "false")},
      {"properties", delta::jsonText(toJsonText(nlohmann::json(creation.properties)))}};
  return std::make_unique<DeltaWrite>(std::move(log), snapshot, std::move(options), std::move(request),
                                      delta::CastFunction());
}

}  // namespace thalweg
