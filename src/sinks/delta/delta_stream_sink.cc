#include "sinks/delta/delta_stream_sink.h"

#include "common/error.h"
#include "common/logging.h"

namespace thalweg {
namespace {

const char* nameOf(OutputMode mode) {
  switch (mode) {
    case OutputMode::Append:
      return "Append";
    case OutputMode::Update:
      return "Update";
    case OutputMode::Complete:
      return "Complete";
  }
  throw internalError("unknown output mode");
}

}  // namespace

DeltaWriteRequest DeltaStreamSink::requestFor(OutputMode mode, SchemaPtr schema) {
  DeltaWriteRequest request;
  request.schema = std::move(schema);
  request.streaming = true;
  request.overwrite = mode == OutputMode::Complete;
  request.operation.name = "STREAMING UPDATE";
  if (mode != OutputMode::Update || !options_.keyColumns) return request;
  if (!upsertKey_) {
    std::vector<std::string> names;
    for (const int column : *options_.keyColumns)
      names.push_back(request.schema->fields()[static_cast<size_t>(column)].name);
    upsertKey_ = std::make_shared<delta::UpsertKey>(*request.schema, names);
  }
  request.upsertKey = upsertKey_;
  return request;
}

DeltaStreamSink::DeltaStreamSink(std::shared_ptr<delta::DeltaLog> log, DeltaWriteOptions options,
                                 DeltaWriteEngine engine)
    : log_(std::move(log)), options_(std::move(options)), engine_(std::move(engine)) {
  // Of batch overwrites: complete mode replaces all rows, whatever they say.
  options_.dynamicOverwrite = false;
  options_.replaceWhere.reset();
}

std::string DeltaStreamSink::description() const {
  return "DeltaSink[" + log_->table().uri() + "]";
}

void DeltaStreamSink::validate(OutputMode mode, const Schema& schema) {
  const delta::SnapshotPtr snapshot = log_->update();
  if (snapshot) tableId_ = snapshot->metadata().id;
  // In the other modes Delta holds rows to the table when the first batch comes, after the checkpoint's own
  // checks.
  if (mode != OutputMode::Update) return;
  DeltaWrite(log_, snapshot, options_, requestFor(mode, DataType::structOf(schema.fields())), engine_);
}

void DeltaStreamSink::checkSameTable(const delta::Snapshot* snapshot, const StreamBatch& batch) {
  const bool expected = wrote_ || !tableId_.empty();
  const std::string id = snapshot ? snapshot->metadata().id : "";
  const bool another = !tableId_.empty()
                           ? id != tableId_
                           : wrote_ && !(snapshot && snapshot->transactionVersion(batch.queryId));
  if (expected && another) {
    const std::string& uri = log_->table().uri();
    throw Error(
        "DELTA_TABLE_NOT_FOUND",
        "The Delta table at " + uri + " that the query was started on is gone: it was " +
            (snapshot ? "replaced by another table" : "dropped, or its files were removed") +
            " while the query ran. Start the query again to write into what is there, with a new checkpoint "
            "to begin from the start.",
        {{"tableName", uri}});
  }
  tableId_ = id;
}

bool DeltaStreamSink::isWritten(const delta::Snapshot& snapshot, const StreamBatch& batch) const {
  const auto recorded = snapshot.transactionVersion(batch.queryId);
  if (!recorded || *recorded < batch.batchId) return false;
  if (*recorded == batch.batchId && batch.replayed) return true;
  // Batches are planned durably before they are written: an honest checkpoint is never behind its table.
  throw Error(
      "STREAMING_CHECKPOINT_BEHIND_SINK",
      "The Delta table " + log_->table().uri() + " has batch " + std::to_string(*recorded) +
          " of the query " + batch.queryId + ", whose checkpoint is only at batch " +
          std::to_string(batch.batchId) +
          ": files of the checkpoint are lost, it is an old copy, or another run of the query is ahead. "
          "Its records would be skipped. Restore the checkpoint, or start with a new one from the offsets "
          "wanted.",
      {{"path", log_->table().uri()}});
}

void DeltaStreamSink::checkUnwritten(const StreamBatch& batch) {
  const delta::SnapshotPtr snapshot = log_->update();
  if (snapshot) isWritten(*snapshot, batch);
}

std::unique_ptr<BatchWrite> DeltaStreamSink::beginBatch(const StreamBatch& batch) {
  const delta::SnapshotPtr snapshot = log_->update();
  checkSameTable(snapshot.get(), batch);
  if (snapshot && isWritten(*snapshot, batch)) {
    logInfo("Batch {} of query {} is already in {}: it is skipped.", batch.batchId, batch.queryId,
            log_->table().uri());
    return nullptr;
  }
  DeltaWriteRequest request = requestFor(batch.mode, batch.schema);
  request.operation.parameters = {{"outputMode", delta::jsonText(nameOf(batch.mode))},
                                  {"queryId", delta::jsonText(batch.queryId)},
                                  {"epochId", delta::jsonText(std::to_string(batch.batchId))}};
  request.transaction = delta::SetTransaction{batch.queryId, batch.batchId, std::nullopt};
  wrote_ = true;
  return std::make_unique<DeltaWrite>(log_, snapshot, options_, std::move(request), engine_);
}

}  // namespace thalweg
