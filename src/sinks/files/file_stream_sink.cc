#include "common/error.h"
#include "common/logging.h"
#include "connector/sink_file_log.h"
#include "sinks/files/file_sink.h"
#include "sinks/files/file_tasks.h"
#include "sinks/files/output_folder.h"
#include "storage/file_uri.h"

namespace thalweg {
namespace {

class FileStreamWrite final : public BatchWrite {
 public:
  FileStreamWrite(std::shared_ptr<const FileLayout> layout, Location folder, SinkFileLog& log,
                  int64_t batchId)
      : folder_(folder), log_(log), batchId_(batchId), tasks_(std::move(layout), std::move(folder)) {}

  std::unique_ptr<TaskWriter> openTask(int taskId) override { return tasks_.open(taskId); }

  void commit() override {
    std::vector<SinkFileEntry> entries;
    for (const WrittenFile& file : tasks_.finish()) {
      const std::string path = folder_.path + "/" + file.relativePath;
      entries.push_back({fileUri(*folder_.fileSystem, path), file.sizeBytes, file.modificationTimeMs});
    }
    log_.add(batchId_, entries);
  }

  void abort() noexcept override { removeFiles(folder_, tasks_.written()); }

 private:
  Location folder_;
  SinkFileLog& log_;
  int64_t batchId_;
  FileTasks tasks_;
};

int64_t retentionOf(const Options& options) {
  const auto text = options.get("retention");
  if (!text) return SinkFileLog::kKeepAll;
  if (const auto milliseconds = parseDurationMs(*text)) return *milliseconds;
  throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION",
              "The option 'retention' is '" + *text + "', which is no duration such as 7d or 12h.",
              {{"option", "retention"}});
}

// Spark has two errors for one mistake, of batches and of streams.
void checkColumn(const std::string& name, const Schema& schema) {
  if (schema.fieldIndex(name, /*caseSensitive=*/false) >= 0) return;
  std::string columns;
  for (const StructField& field : schema.fields()) columns += (columns.empty() ? "" : ", ") + field.name;
  throw Error("_LEGACY_ERROR_TEMP_1196",
              "Partition column " + name + " not found in existing columns (" + columns + ").",
              {{"columnType", "Partition"}, {"columnName", name}, {"validColumnNames", columns}});
}

class FileStreamSink final : public StreamSink {
 public:
  FileStreamSink(FileOutputDefinition format, WriteDefinition write, Location folder)
      : format_(std::move(format)),
        write_(std::move(write)),
        folder_(std::move(folder)),
        retentionMs_(retentionOf(write_.options)) {}

  // As it was named.
  std::string description() const override { return "FileSink[" + *write_.path + "]"; }

  void validate(OutputMode, const Schema& schema) override {
    refuseDeltaTable(folder_, format_.name, "write into");
    for (const std::string& name : write_.partitionColumns) checkColumn(name, schema);
    FileLayout::make(format_, write_, DataType::structOf(schema.fields()));
  }

  void checkUnwritten(const StreamBatch& batch) override {
    // Behind this query's back the folder may have been overwritten, or another have written into it.
    if (log_ && log_->latest() >= 0 && !log_->has(log_->latest())) log_.reset();
    openLog();
    if (batch.batchId <= log_->latest()) refuseAsBehind(batch, log_->latest());
    if (log_->has(batch.batchId)) refuseAsBehind(batch, batch.batchId);
    if (log_->latest() < 0) refuseUnloggedFiles(folder_, format_.name);
  }

  std::unique_ptr<BatchWrite> beginBatch(const StreamBatch& batch) override {
    openLog();
    if (batch.batchId <= log_->latest()) {
      if (!batch.replayed || batch.batchId < log_->latest()) refuseAsBehind(batch, log_->latest());
      logInfo("Batch {} of query {} is already in {}: it is skipped.", batch.batchId, batch.queryId,
              folder_.uri());
      return nullptr;
    }
    auto layout = std::make_shared<const FileLayout>(FileLayout::make(format_, write_, batch.schema));
    return std::make_unique<FileStreamWrite>(std::move(layout), folder_, *log_, batch.batchId);
  }

 private:
  void openLog() {
    if (!log_) log_ = std::make_unique<SinkFileLog>(folder_, systemClock(), retentionMs_);
  }

  // Batches are planned durably before they are written: an honest checkpoint is never behind its folder.
  // Spark skips such batches, and their records are in no file.
  [[noreturn]] void refuseAsBehind(const StreamBatch& batch, int64_t latest) const {
    throw Error(
        "STREAMING_CHECKPOINT_BEHIND_SINK",
        fmt::format("The folder {} has batches up to {} in its log, and the checkpoint {} is only at batch "
                    "{}: another checkpoint wrote them, or files of this one are lost. Its records would be "
                    "skipped. Choose another output folder for a new checkpoint, or restore the old one.",
                    folder_.uri(), latest, write_.options.getOr("checkpointLocation", ""), batch.batchId),
        {{"path", folder_.uri()}});
  }

  FileOutputDefinition format_;
  WriteDefinition write_;
  Location folder_;
  int64_t retentionMs_;
  std::unique_ptr<SinkFileLog> log_;  // from the first batch on
};

}  // namespace

std::unique_ptr<StreamSink> openFileStreamSink(const FileOutputDefinition& format,
                                               const WriteDefinition& write,
                                               const FileSystemRegistry& registry) {
  if (!write.path)
    throw Error("_LEGACY_ERROR_TEMP_2047", "'path' is not specified: name the folder to write into.");
  return std::make_unique<FileStreamSink>(format, write, registry.resolve(*write.path));
}

}  // namespace thalweg
