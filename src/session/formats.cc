// Every format of the program: the one place that knows all sources and sinks.
#include <map>
#include <mutex>

#include "commands/sql_evaluator.h"
#include "common/error.h"
#include "expr/cast/cast.h"
#include "session/delta_logs.h"
#include "session/server_state.h"
#include "session/show_string.h"
#include "sinks/console/console_sink.h"
#include "sinks/delta/delta_batch_write.h"
#include "sinks/delta/delta_stream_sink.h"
#include "sinks/files/file_sink.h"
#include "sinks/files/parquet_output.h"
#include "sinks/noop/noop_sink.h"
#include "sources/delta/change_feed_table.h"
#include "sources/delta/delta_stream_options.h"
#include "sources/delta/delta_stream_source.h"
#include "sources/delta/delta_table.h"
#include "sources/files/file_source.h"
#include "sources/files/json_records.h"
#include "sources/files/parquet_records.h"
#include "sources/kafka/kafka_source.h"
#include "sources/rate/rate_source.h"
#include "sources/state/state_table.h"
#include "streaming/checkpoint/checkpoint.h"

namespace thalweg {
namespace {

void refuseUserSchema(const ReadDefinition& read, const char* format) {
  if (!read.userSchema) return;
  if (std::string_view(format) == "delta") {
    throw Error("_LEGACY_ERROR_TEMP_2242", "DeltaDataSource source does not support user-specified schema: give none.",
                {{"dataSource", "DeltaDataSource"}});
  }
  throw Error("UNSUPPORTED_FEATURE.USER_SPECIFIED_SCHEMA", std::string("The source '") + format + "' has a schema of its own: give none.");
}

std::string onlyPath(const ReadDefinition& read, const char* format) {
  if (read.paths.size() == 1) return read.paths[0];
  throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION", std::string("The format '") + format + "' takes one path.");
}

// Rows fitted to a table's types as SQL's INSERT does: what does not fit is an error.
delta::CastFunction storeAssignment(const std::string& timeZone) {
  auto batch = std::make_shared<BatchContext>();
  batch->timeZone = TimeZone::parse(timeZone);
  return [batch](const arrow::Array& array, const DataType& from, const DataType& to) -> std::shared_ptr<arrow::Array> {
    if (!canCast(from, to, CastMode::Ansi)) {
      throw Error("DELTA_FAILED_TO_MERGE_FIELDS", "Values of type " + from.sqlString() + " cannot be stored as " + to.sqlString() + ".",
                  {{"currentField", to.simpleString()}, {"updateField", from.simpleString()}});
    }
    return castArray(arrow::MakeArray(array.data()), from, to, CastMode::Ansi, EvaluationContext{batch.get()});
  };
}

std::string writePath(const WriteDefinition& write) {
  if (write.path) return *write.path;
  throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION", "A Delta write needs a path: start(path), save(path) or the option 'path'.");
}

FormatProvider deltaFormat(const std::shared_ptr<DeltaLogs>& logs, TaskPool& pool) {
  const auto engine = [&pool](const WriteDefinition& write) {
    DeltaWriteEngine made;
    made.expressions = makeSqlEvaluator(write.timeZone, write.ansi, write.replaced);
    made.cancellation = write.cancellation;
    made.timeZone = TimeZone::parse(write.timeZone);
    made.numTasks = pool.numSlots();
    made.runTasks = [&pool](int count, const std::function<void(int)>& task) { pool.runAll(count, task); };
    return made;
  };
  FormatProvider format;
  format.name = "delta";
  format.openTable = [logs](const ReadDefinition& read, const FileSystemRegistry& files) -> std::shared_ptr<Table> {
    refuseUserSchema(read, "delta");
    const DeltaAddress address = parseDeltaAddress(onlyPath(read, "delta"));
    const auto log = logs->get(files.resolve(address.path));
    if (readsChangeFeed(read.options)) return openChangeFeed(log, address, read.options, read.timeZone);
    return openDeltaTable(log, address, read.options, read.timeZone);
  };
  format.streamSchema = [logs](const ReadDefinition& read, const FileSystemRegistry& files) {
    auto resolve = [&files](std::string_view uri) { return files.resolve(uri); };
    return deltaStreamSchema(*logs->get(files.resolve(parseDeltaAddress(onlyPath(read, "delta")).path)), read, resolve);
  };
  format.openStream = [logs](const ReadDefinition& read, const FileSystemRegistry& files, const StreamSourceContext& context) {
    auto resolve = [&files](std::string_view uri) { return files.resolve(uri); };
    return openDeltaStream(logs->get(files.resolve(onlyPath(read, "delta"))), read, context, resolve);
  };
  format.openStreamSink = [logs, engine](const WriteDefinition& write,
                                         const FileSystemRegistry& files) -> std::unique_ptr<StreamSink> {
    DeltaWriteOptions options = DeltaWriteOptions::parse(write.options, write.partitionColumns);
    options.clusterBy = write.clusterBy;
    options.compactBehind = write.compactBehind;
    options.keyColumns = write.keyColumns;
    DeltaWriteEngine streamEngine = engine(write);
    streamEngine.cast = storeAssignment(write.timeZone);
    return std::make_unique<DeltaStreamSink>(logs->get(files.resolve(writePath(write))), std::move(options),
                                             std::move(streamEngine));
  };
  format.openBatchWrite = [logs, engine](const WriteDefinition& write, const FileSystemRegistry& files,
                                         SaveMode mode,
                                         const SchemaPtr& schema) -> std::unique_ptr<BatchWrite> {
    DeltaWriteOptions options = DeltaWriteOptions::parse(write.options, write.partitionColumns);
    options.clusterBy = write.clusterBy;
    options.readVersion = write.readVersion;
    if (write.replaced) options.replaceWhere = write.replaced->text;
    auto log = logs->get(files.resolve(writePath(write)));
    if (write.creation)
      return beginDeltaCreation(std::move(log), *write.creation, schema, std::move(options), engine(write));
    // Unlike a stream's rows and SQL's INSERT, a DataFrame's are not cast: other types are refused, as by Delta.
    return beginDeltaWrite(std::move(log), mode, schema, std::move(options), engine(write));
  };
  return format;
}

// Key stores and trust stores are held to the paths that the server may use. For calls that end before `files` does.
KafkaEnvironment kafkaEnvironment(const FileSystemRegistry& files) {
  KafkaEnvironment environment;
  environment.readFile = [&files](const std::string& path) {
    const Location file = files.resolve(path);
    return file.fileSystem->readAll(file.path);
  };
  return environment;
}

FormatProvider kafkaFormat() {
  FormatProvider format;
  format.name = "kafka";
  format.streamSchema = [](const ReadDefinition& read, const FileSystemRegistry& files) {
    refuseUserSchema(read, "kafka");
    validateKafkaOptions(read.options, KafkaReadMode::Stream, kafkaEnvironment(files));
    const SchemaPtr schema = kafkaSchema(read.options);
    return StreamSchema{schema, static_cast<int>(schema->fields().size())};
  };
  format.openStream = [](const ReadDefinition& read, const FileSystemRegistry& files, const StreamSourceContext& context) {
    return openKafkaStream(read.options, context, kafkaEnvironment(files));
  };
  format.openTable = [](const ReadDefinition& read, const FileSystemRegistry& files) {
    refuseUserSchema(read, "kafka");
    return openKafkaTable(read.options, kafkaEnvironment(files));
  };
  return format;
}

// Which provider and codec wrote the state that a batch left behind.
std::map<std::string, std::string> loggedConfiguration(const Location& checkpoint, int64_t batchId) {
  const std::optional<OffsetEntry> entry = Checkpoint(checkpoint).readOffsets(batchId);
  if (entry) return entry->configuration;
  throw Error("STDS_OFFSET_LOG_UNAVAILABLE", "The checkpoint in " + checkpoint.uri() + " has no offsets of batch " + std::to_string(batchId) + ".",
              {{"batchId", std::to_string(batchId)}, {"checkpointLocation", checkpoint.uri()}});
}

FormatProvider stateFormat(std::string temporaryFolder) {
  FormatProvider format;
  format.name = "statestore";
  format.openTable = [temporaryFolder](const ReadDefinition& read, const FileSystemRegistry& files) {
    refuseUserSchema(read, "statestore");
    return openStateTable(read, files, loggedConfiguration, temporaryFolder);
  };
  return format;
}

FormatProvider stateMetadataFormat() {
  FormatProvider format;
  format.name = "state-metadata";
  format.openTable = [](const ReadDefinition& read, const FileSystemRegistry& files) {
    refuseUserSchema(read, "state-metadata");
    return openStateMetadataTable(read, files);
  };
  return format;
}

FormatProvider rateFormat() {
  FormatProvider format;
  format.name = "rate";
  format.streamSchema = [](const ReadDefinition& read, const FileSystemRegistry&) {
    refuseUserSchema(read, "rate");
    const SchemaPtr schema = rateSchema();
    return StreamSchema{schema, static_cast<int>(schema->fields().size())};
  };
  format.openStream = [](const ReadDefinition& read, const FileSystemRegistry&, const StreamSourceContext& context) {
    return openRateStream(read.options, context);
  };
  return format;
}

// Files of one format; `output` where they can be written too.
FormatProvider fileFormat(const FileFormatDefinition& definition,
                          const std::optional<FileOutputDefinition>& output = {}) {
  FormatProvider format;
  format.name = definition.name;
  format.streamSchema = [definition](const ReadDefinition& read, const FileSystemRegistry& files) {
    return fileStreamSchema(definition, read, files);
  };
  format.openStream = [definition](const ReadDefinition& read, const FileSystemRegistry& files, const StreamSourceContext& context) {
    return openFileStream(definition, read, files, context);
  };
  format.openTable = [definition](const ReadDefinition& read, const FileSystemRegistry& files) {
    return openFileTable(definition, read, files);
  };
  if (!output) return format;
  format.openStreamSink = [output](const WriteDefinition& write, const FileSystemRegistry& files) {
    return openFileStreamSink(*output, write, files);
  };
  format.openBatchWrite = [output](const WriteDefinition& write, const FileSystemRegistry& files, SaveMode mode,
                                   const SchemaPtr& schema) {
    return openFileWrite(*output, write, files, mode, schema);
  };
  return format;
}

FormatProvider consoleFormat() {
  FormatProvider format;
  format.name = "console";
  format.openStreamSink = [](const WriteDefinition& write, const FileSystemRegistry&) -> std::unique_ptr<StreamSink> {
    const TimeZone zone = TimeZone::parse(write.timeZone);
    return std::make_unique<ConsoleSink>(
        write.options, [zone](const Schema& schema, const std::vector<std::shared_ptr<arrow::RecordBatch>>& rows, int numRows, int truncate) {
          return drawTable(schema, rows, numRows, truncate, false, zone);
        });
  };
  return format;
}

FormatProvider noopFormat() {
  FormatProvider format;
  format.name = "noop";
  format.openStreamSink = [](const WriteDefinition&, const FileSystemRegistry&) -> std::unique_ptr<StreamSink> { return std::make_unique<NoopSink>(); };
  format.openBatchWrite = [](const WriteDefinition&, const FileSystemRegistry&, SaveMode, const SchemaPtr&) { return makeNoopWrite(); };
  return format;
}

}  // namespace

void registerFormats(FormatRegistry* registry, const std::shared_ptr<DeltaLogs>& logs, TaskPool& pool,
                     const std::string& temporaryFolder) {
  registry->add(deltaFormat(logs, pool));
  registry->add(kafkaFormat());
  registry->add(rateFormat());
  registry->add(stateFormat(temporaryFolder));
  registry->add(stateMetadataFormat());
  registry->add(fileFormat(jsonFileFormat()));
  registry->add(fileFormat(parquetFileFormat(), parquetFileOutput()));
  registry->add(consoleFormat());
  registry->add(noopFormat());
}

}  // namespace thalweg
