// Streaming commands of a session: start, watch, wait for and stop queries.
#include <algorithm>
#include <numeric>
#include <thread>

#include <spark/connect/base.pb.h>
#include <nlohmann/json.hpp>

#include "commands/file_tables.h"
#include "commands/new_table.h"
#include "commands/table_target.h"
#include "commands/table_write.h"
#include "common/error.h"
#include "common/logging.h"
#include "common/secret.h"
#include "common/uuid.h"
#include "expr/aggregate.h"
#include "plan/analyze/streaming_rules.h"
#include "plan/analyze/upsert_keys.h"
#include "plan/logical/join.h"
#include "session/clustering_columns.h"
#include "session/session.h"
#include "session/statement_session.h"
#include "session/timer.h"
#include "streaming/watermark/watermark_tracker.h"
#include "sinks/files/output_folder.h"
#include "sinks/memory/memory_sink.h"
#include "sql/parser.h"
#include "types/text/intervals.h"

namespace thalweg {
namespace {

namespace proto = spark::connect;

OutputMode outputModeOf(const std::string& text) {
  if (text.empty() || equalsIgnoreCase(text, "append")) return OutputMode::Append;
  if (equalsIgnoreCase(text, "update")) return OutputMode::Update;
  if (equalsIgnoreCase(text, "complete")) return OutputMode::Complete;
  throw Error("STREAMING_OUTPUT_MODE.INVALID", "'" + text + "' is no output mode: append, update and complete are.", {{"outputMode", text}});
}

Trigger triggerOf(const proto::WriteStreamOperationStart& start) {
  switch (start.trigger_case()) {
    case proto::WriteStreamOperationStart::kProcessingTimeInterval: {
      const int64_t micros = parseTriggerIntervalMicros(start.processing_time_interval());
      if (micros < 0) throw Error(ErrorKind::IllegalArgument, "INVALID_TRIGGER_INTERVAL", "The interval of a trigger must not be negative.");
      if (micros / 1000 == 0) return {};
      return {Trigger::Kind::ProcessingTime, micros / 1000};
    }
    case proto::WriteStreamOperationStart::kAvailableNow: return {Trigger::Kind::AvailableNow, 0};
    case proto::WriteStreamOperationStart::kOnce: return {Trigger::Kind::Once, 0};
    case proto::WriteStreamOperationStart::kContinuousCheckpointInterval: throw unsupported("The continuous trigger");
    case proto::WriteStreamOperationStart::kRealTimeBatchDuration: throw unsupported("The real-time trigger");
    default: return {};
  }
}

// Files are only added to a folder.
void checkFileSinkMode(const std::string& format, OutputMode mode) {
  constexpr std::string_view kFileFormats[] = {"avro", "csv", "json", "orc", "parquet", "text"};
  if (mode == OutputMode::Append || std::ranges::find(kFileFormats, format) == std::end(kFileFormats)) return;
  const std::string name = mode == OutputMode::Complete ? "complete" : "update";
  throw Error("STREAMING_OUTPUT_MODE.UNSUPPORTED_DATASOURCE",
              "Files of the format '" + format + "' are only added to; the output mode " + name +
                  " would have to change them. Write append mode, or into a Delta table.",
              {{"className", format}, {"outputMode", name}});
}

void refuseAggregate(const Expression& expression) {
  if (expression.kind() == ExpressionKind::Aggregate) {
    const auto& call = static_cast<const AggregateCall&>(expression);
    if (call.spec().make()->bufferFields().empty()) throw unsupported("The aggregate function " + call.spec().name + " over a stream");
  }
  for (const ExpressionPtr& child : expression.children()) refuseAggregate(*child);
}

// Operators that keep state between batches: legal, and not built yet.
void refuseState(const LogicalNode& node) {
  if (!node.isStreaming()) return;
  switch (node.kind()) {
    case LogicalKind::Aggregate:
      for (const ExpressionPtr& result : static_cast<const LogicalAggregate&>(node).results()) refuseAggregate(*result);
      break;
    case LogicalKind::Join:
      if (static_cast<const LogicalJoin&>(node).eachOnce()) throw unsupported("INTERSECT ALL and EXCEPT ALL over a stream");
      break;
    default: break;
  }
  for (const LogicalPtr& child : node.children()) refuseState(*child);
}

// A table's files, which are Parquet, come and go with its commits: as a stream of files they bring rows twice, and deleted ones.
void refuseTablesAsFiles(const LogicalNode& node, const FormatRegistry& formats) {
  if (node.kind() == LogicalKind::StreamScan) {
    const StreamSourceDefinition& source = *static_cast<const LogicalStreamScan&>(node).source();
    const std::string& format = formats.find(source.format).name;
    if (source.path && format == "parquet") refuseDeltaTable(formats.fileSystems().resolve(*source.path), format, "stream from");
  }
  for (const LogicalPtr& child : node.children()) refuseTablesAsFiles(*child, formats);
}

// State partitions of a new query whose user did not choose a number: Spark's 200 would cost 200 files an empty batch.
int defaultStatePartitions() { return std::max(8, static_cast<int>(std::thread::hardware_concurrency())); }

void setQueryId(const StreamingQuery& query, proto::StreamingQueryInstanceId* id) {
  id->set_id(query.id());
  id->set_run_id(query.runId());
}

std::chrono::milliseconds timeoutOf(int64_t milliseconds) { return std::chrono::milliseconds(std::max<int64_t>(0, milliseconds)); }

// Ends an operation once, from whoever comes first: the query's end, the timeout, a cancellation.
class OneEnding {
 public:
  explicit OneEnding(std::shared_ptr<ResponseSink> sink) : sink_(std::move(sink)) {}
  template <typename F>
  void end(F f) {
    if (done_.exchange(true)) return;
    try {
      f(*sink_);
      sink_->complete();
    } catch (...) {
      sink_->fail(currentExceptionAsError());
    }
    std::vector<std::shared_ptr<void>> dropped;
    std::lock_guard lock(mutex_);
    dropped.swap(registrations_);
  }
  // Keeps what may call end() registered for as long as this has not ended.
  void keep(std::shared_ptr<void> registration) {
    std::lock_guard lock(mutex_);
    if (!done_) registrations_.push_back(std::move(registration));
  }
  static std::shared_ptr<OneEnding> of(std::shared_ptr<ResponseSink> sink) {
    auto ending = std::make_shared<OneEnding>(sink);
    ending->keep(sink->cancellation().onCancel([weak = std::weak_ptr(ending)] {
      if (const auto alive = weak.lock()) {
        alive->end([](ResponseSink&) { throw Error("OPERATION_CANCELED", "The operation was cancelled."); });
      }
    }));
    return ending;
  }

 private:
  std::shared_ptr<ResponseSink> sink_;
  std::atomic<bool> done_{false};
  std::mutex mutex_;
  std::vector<std::shared_ptr<void>> registrations_;
};

// The rows of earlier runs went with their sessions. Only complete mode brings all of them again.
void refuseUsedCheckpoint(const Location& checkpoint) {
  const std::string offsets = checkpoint.path + "/offsets";
  if (checkpoint.fileSystem->list(offsets).empty()) return;
  throw Error("_LEGACY_ERROR_TEMP_1299",
              "The memory sink keeps no rows of earlier runs, so that its queries start afresh except in complete mode. Take "
              "another checkpointLocation, or delete " + offsets + ".",
              {{"checkpointPath", offsets}});
}

}  // namespace

void Session::startStream(const proto::WriteStreamOperationStart& start, ResponseSink& sink) {
  if (start.has_foreach_writer() || start.has_foreach_batch()) {
    throw Error("UNSUPPORTED_FEATURE.PYTHON_UDF", "foreach and foreachBatch run Python, which this server does not do yet.");
  }
  LogicalPtr plan = resolve(start.input());
  if (!plan->isStreaming()) {
    throw Error("WRITE_STREAM_NOT_ALLOWED", "`writeStream` can be called only on a streaming DataFrame.", {});
  }
  const OutputMode mode = outputModeOf(start.output_mode());
  checkStreamingPlan(*plan, mode);
  refuseState(*plan);
  refuseTablesAsFiles(*plan, server_->formats);

  WriteDefinition write;
  for (const auto& [name, value] : start.options()) write.options.set(name, value);
  if (start.has_path() && !start.path().empty()) write.path = start.path();
  else write.path = write.options.get("path");
  write.partitionColumns.assign(start.partitioning_column_names().begin(), start.partitioning_column_names().end());
  write.clusterBy = clusteringOf(start.clustering_column_names(), start.partitioning_column_names_size());
  write.timeZone = setting("spark.sql.session.timeZone");
  write.ansi = flag("spark.sql.ansi.enabled");
  takeOptimizeWrite([&](const std::string& key) { return lookUp(key); }, &write.options);
  takeFileWriteSettings([&](const std::string& key) { return lookUp(key); }, &write.options);

  std::string format = start.format().empty() ? setting("spark.sql.sources.default") : start.format();
  const bool toTable = start.has_table_name() && !start.table_name().empty();
  if (mode == OutputMode::Update && (toTable || equalsIgnoreCase(format, "delta"))) write.keyColumns = upsertKeyColumns(*plan);
  if (toTable) aimAtTable(start, plan, &format, &write);
  StreamingQueryDefinition definition;
  if (!start.query_name().empty()) definition.name = start.query_name();
  definition.mode = mode;
  definition.trigger = triggerOf(start);
  // Other triggers make as few files as the user asked for.
  write.compactBehind = definition.trigger.kind == Trigger::Kind::Default &&
                        !equalsIgnoreCase(lookUp("spark.databricks.delta.autoCompact.enabled").value_or(""), "false");
  const bool isMemory = equalsIgnoreCase(format, "memory");
  std::shared_ptr<MemoryRows> memoryRows;
  if (isMemory) {
    if (!definition.name) {
      throw Error("_LEGACY_ERROR_TEMP_1194", "The memory sink needs a queryName: it is the name of the view that shows its rows.", {});
    }
    auto rows = std::make_shared<MemoryRows>(schemaOf(*plan));
    definition.sink = std::make_unique<MemorySink>(rows);
    memoryRows = rows;
  } else {
    const FormatProvider& provider = server_->formats.find(format);
    checkFileSinkMode(provider.name, mode);
    if (!provider.openStreamSink) throw unsupported("A streaming sink of the format '" + provider.name + "'");
    definition.sink = provider.openStreamSink(write, server_->formats.fileSystems());
  }
  definition.sink->validate(mode, *schemaOf(*plan));
  definition.plan = std::move(plan);

  std::string checkpoint = write.options.getOr("checkpointLocation", "");
  if (checkpoint.empty()) {
    const std::string root = setting("spark.sql.streaming.checkpointLocation");
    if (!root.empty()) checkpoint = root + "/" + definition.name.value_or(randomUuid());
  }
  if (checkpoint.empty()) {
    if (!isMemory && !equalsIgnoreCase(format, "console") && !equalsIgnoreCase(format, "noop")) {
      throw Error("_LEGACY_ERROR_TEMP_1298",
                  "A streaming query needs a place for its checkpoint: set the option checkpointLocation, or "
                  "spark.sql.streaming.checkpointLocation for the session.", {{"config", "spark.sql.streaming.checkpointLocation"}});
    }
    checkpoint = server_->temporaryFolder() + "/thalweg-checkpoint-" + randomUuid();
    definition.deleteCheckpointOnStop = true;
  }
  definition.checkpoint = server_->formats.fileSystems().resolve(checkpoint);
  if (isMemory && mode != OutputMode::Complete) refuseUsedCheckpoint(definition.checkpoint);

  definition.timeZone = write.timeZone;
  for (const auto& [key, value] : loggedConfigurationDefaults()) definition.loggedConfiguration[key] = lookUp(key).value_or(value);
  constexpr const char* kPartitions = "spark.sql.shuffle.partitions";
  const auto& serverSettings = server_->options.configuration;
  const bool isChosen = std::any_of(serverSettings.begin(), serverSettings.end(), [&](const auto& one) { return one.first == kPartitions; });
  definition.settings.insert(serverSettings.begin(), serverSettings.end());
  {
    std::lock_guard lock(mutex_);
    for (const auto& [key, value] : settings_) definition.settings[key] = value;
    if (!isChosen && !settings_.contains(kPartitions)) definition.loggedConfiguration[kPartitions] = std::to_string(defaultStatePartitions());
  }
  parseWatermarkPolicy(definition.loggedConfiguration.at("spark.sql.streaming.multipleWatermarkPolicy"));
  auto number = [&](const char* key, int64_t fallback) { return parseDurationMs(setting(key)).value_or(fallback); };
  definition.pollingDelayMs = std::clamp<int64_t>(number("spark.sql.streaming.pollingDelay", 10), 1, 3'600'000);
  definition.minBatchesToRetain = std::max<int64_t>(2, number("spark.sql.streaming.minBatchesToRetain", 100));
  definition.numRecentProgress = static_cast<int>(std::min<int64_t>(number("spark.sql.streaming.numRecentProgressUpdates", 100), 100'000));
  definition.noDataBatches = flag("spark.sql.streaming.noDataMicroBatches.enabled");
  definition.temporaryFolder = server_->temporaryFolder();
  if (flag("spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage")) {
    definition.stateMemoryBytes = std::clamp<int64_t>(number("spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB", 500), 0, 1 << 30) << 20;
  }
  definition.formats = &server_->formats;
  definition.pool = &server_->pool;

  const auto query = server_->queries.start(key_, std::move(definition), flag("spark.sql.streaming.stopActiveRunOnRestart"));
  if (memoryRows) {
    const auto output = attributesOf(*memoryRows->schema());
    std::vector<int> columns(output.size());
    std::iota(columns.begin(), columns.end(), 0);
    views_.add(*query->name(), std::make_shared<LogicalTableScan>(memoryRows, std::move(columns), output), /*replace=*/true);
  }
  proto::ExecutePlanResponse response;
  auto* result = response.mutable_write_stream_operation_start_result();
  setQueryId(*query, result->mutable_query_id());
  if (query->name()) result->set_name(*query->name());
  sink.send(std::move(response));
}

void Session::aimAtTable(const proto::WriteStreamOperationStart& start, const LogicalPtr& plan, std::string* format, WriteDefinition* write) {
  StatementSession session(*this, {});
  NewTable table;
  table.name = sql::parseTableName(start.table_name());
  if (!isPathName(table.name)) {
    table.provider = *format;
    table.columns = asNullable(schemaOf(*plan));
    table.partitionedBy = write->partitionColumns;
    table.clusterBy = write->clusterBy;
    table.location = write->path;
    table.ifNotExists = true;
    // As the sink makes its own.
    if (write->keyColumns) table.properties["delta.enableDeletionVectors"] = "true";
    createTable(table, session);
  }
  const TableTarget target = requireTable(table.name, session, "writeStream");
  if (!start.format().empty() && !equalsIgnoreCase(target.provider, start.format())) {
    throw Error("_LEGACY_ERROR_TEMP_1159",
                "The table " + target.shownName() + " is one of " + target.provider + ", and the query writes " + start.format() + ".",
                {{"tableName", target.shownName()}, {"existingProvider", target.provider}, {"specifiedProvider", start.format()}});
  }
  *format = target.provider;
  write->path = target.address;
  write->options.erase("path");
}

bool Session::queryCommand(const proto::StreamingQueryCommand& command, const std::shared_ptr<ResponseSink>& sink) {
  const auto query = server_->queries.find(key_, command.query_id().id(), command.query_id().run_id());
  if (!query) {
    if (server_->queries.find(key_, command.query_id().id())) {
      throw Error("CONNECT_INVALID_PLAN.STREAMING_QUERY_RUN_ID_MISMATCH", "That run of the query has been replaced by a newer one.");
    }
    throw Error("CONNECT_INVALID_PLAN.STREAMING_QUERY_NOT_FOUND", "This session has no streaming query with the id " + command.query_id().id() + ".");
  }
  proto::ExecutePlanResponse response;
  auto* result = response.mutable_streaming_query_command_result();
  setQueryId(*query, result->mutable_query_id());
  switch (command.command_case()) {
    case proto::StreamingQueryCommand::kStatus: {
      const QueryStatus status = query->status();
      result->mutable_status()->set_status_message(status.message);
      result->mutable_status()->set_is_data_available(status.isDataAvailable);
      result->mutable_status()->set_is_trigger_active(status.isTriggerActive);
      result->mutable_status()->set_is_active(query->isActive());
      break;
    }
    case proto::StreamingQueryCommand::kLastProgress:
      result->mutable_recent_progress();
      if (const auto last = query->lastProgress()) result->mutable_recent_progress()->add_recent_progress_json(*last);
      break;
    case proto::StreamingQueryCommand::kRecentProgress:
      result->mutable_recent_progress();
      for (const std::string& progress : query->recentProgress()) result->mutable_recent_progress()->add_recent_progress_json(progress);
      break;
    case proto::StreamingQueryCommand::kStop: query->stop(); break;
    case proto::StreamingQueryCommand::kProcessAllAvailable: query->processAllAvailable(sink->cancellation()); break;
    case proto::StreamingQueryCommand::kExplain: result->mutable_explain()->set_result(maskSecrets(query->explain(command.explain().extended()))); break;
    case proto::StreamingQueryCommand::kException:
      if (const auto failure = query->exception()) {
        result->mutable_exception()->set_exception_message("org.apache.spark.sql.streaming.StreamingQueryException: " + failure->message());
        result->mutable_exception()->set_error_class(failure->condition());
        result->mutable_exception()->set_stack_trace("");
      }
      break;
    case proto::StreamingQueryCommand::kAwaitTermination: {
      // The wait holds no thread: the query's end, the timeout or a cancellation ends the operation.
      const auto ending = OneEnding::of(sink);
      auto answer = [query, response](ResponseSink& out) {
        if (const auto failure = query->exception()) throw *failure;
        proto::ExecutePlanResponse message = response;
        message.mutable_streaming_query_command_result()->mutable_await_termination()->set_terminated(!query->isActive());
        out.send(std::move(message));
      };
      if (command.await_termination().has_timeout_ms()) {
        runAfter(timeoutOf(command.await_termination().timeout_ms()), [ending, answer] { ending->end(answer); });
      }
      ending->keep(query->onTermination([ending, answer] { ending->end(answer); }));
      return true;
    }
    default: throw Error("CONNECT_INVALID_PLAN.STREAMING_QUERY_COMMAND", "The streaming query command asks for nothing that this server knows.");
  }
  sink->send(std::move(response));
  return false;
}

bool Session::managerCommand(const proto::StreamingQueryManagerCommand& command, const std::shared_ptr<ResponseSink>& sink) {
  proto::ExecutePlanResponse response;
  auto* result = response.mutable_streaming_query_manager_command_result();
  switch (command.command_case()) {
    case proto::StreamingQueryManagerCommand::kActive:
      result->mutable_active();
      for (const auto& query : server_->queries.active(key_)) {
        auto* one = result->mutable_active()->add_active_queries();
        setQueryId(*query, one->mutable_id());
        if (query->name()) one->set_name(*query->name());
      }
      break;
    case proto::StreamingQueryManagerCommand::kGetQuery:
      if (const auto query = server_->queries.find(key_, command.get_query()); query && query->isActive()) {
        setQueryId(*query, result->mutable_query()->mutable_id());
        if (query->name()) result->mutable_query()->set_name(*query->name());
      }
      break;
    case proto::StreamingQueryManagerCommand::kResetTerminated:
      server_->queries.resetTerminated(key_);
      result->set_reset_terminated(true);
      break;
    case proto::StreamingQueryManagerCommand::kAwaitAnyTermination: {
      const auto ending = OneEnding::of(sink);
      auto answer = [response](bool terminated, std::optional<Error> failure) {
        return [response, terminated, failure](ResponseSink& out) {
          if (failure) throw *failure;
          proto::ExecutePlanResponse message = response;
          message.mutable_streaming_query_manager_command_result()->mutable_await_any_termination()->set_terminated(terminated);
          out.send(std::move(message));
        };
      };
      if (command.await_any_termination().has_timeout_ms()) {
        runAfter(timeoutOf(command.await_any_termination().timeout_ms()), [ending, answer] { ending->end(answer(false, std::nullopt)); });
      }
      ending->keep(server_->queries.onAnyTermination(key_, [ending, answer](std::optional<Error> failure) { ending->end(answer(true, failure)); }));
      return true;
    }
    default: throw unsupported("A listener on the server's side");
  }
  sink->send(std::move(response));
  return false;
}

}  // namespace thalweg
