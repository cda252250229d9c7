// Commands of a session: views, SQL texts, batch writes; streaming commands lie in session_streaming.cc.
#include <arrow/api.h>
#include <spark/connect/base.pb.h>

#include "common/error.h"
#include "exec/pipeline/write.h"
#include "exec/planner/planner.h"
#include "plan/optimize/optimizer.h"
#include "session/results.h"
#include "session/session.h"
#include "session/statements.h"

namespace thalweg {
namespace {

namespace proto = spark::connect;

SaveMode saveModeOf(const proto::WriteOperation& operation) {
  switch (operation.mode()) {
    case proto::WriteOperation::SAVE_MODE_APPEND: return SaveMode::Append;
    case proto::WriteOperation::SAVE_MODE_OVERWRITE: return SaveMode::Overwrite;
    case proto::WriteOperation::SAVE_MODE_IGNORE: return SaveMode::Ignore;
    default: return SaveMode::ErrorIfExists;
  }
}

}  // namespace

void Session::runCommand(const proto::Command& command, const std::shared_ptr<ResponseSink>& sink) {
  switch (command.command_type_case()) {
    case proto::Command::kCreateDataframeView: {
      const auto& view = command.create_dataframe_view();
      if (view.is_global()) throw unsupported("A global temporary view");
      addView(view.name(), resolve(view.input()), view.replace());
      break;
    }
    case proto::Command::kSqlCommand: runSql(command.sql_command(), *sink); break;
    case proto::Command::kWriteOperation: write(command.write_operation(), sink->cancellation()); break;
    case proto::Command::kWriteStreamOperationStart: startStream(command.write_stream_operation_start(), *sink); break;
    case proto::Command::kStreamingQueryCommand:
      if (queryCommand(command.streaming_query_command(), sink)) return;
      break;
    case proto::Command::kStreamingQueryManagerCommand:
      if (managerCommand(command.streaming_query_manager_command(), sink)) return;
      break;
    // A client cleans up after itself at its end; there is nothing of these to clean.
    case proto::Command::kRemoveCachedRemoteRelationCommand: break;
    case proto::Command::kMlCommand:
      if (!command.ml_command().has_clean_cache()) throw unsupported("Spark ML");
      {
        proto::ExecutePlanResponse response;
        response.mutable_ml_command_result();
        sink->send(std::move(response));
      }
      break;
    case proto::Command::kGetResourcesCommand: {
      proto::ExecutePlanResponse response;
      response.mutable_get_resources_command_result();
      sink->send(std::move(response));
      break;
    }
    case proto::Command::kRegisterFunction: throw unsupported("A Python function");
    case proto::Command::kStreamingQueryListenerBusCommand: throw unsupported("A streaming query listener");
    default:
      throw unsupported("A command of this kind (" +
                        std::string(command.command_type_case() == proto::Command::COMMAND_TYPE_NOT_SET
                                        ? "none"
                                        : command.GetDescriptor()->FindFieldByNumber(command.command_type_case())->name()) +
                        ")");
  }
  sink->complete();
}

void Session::runSql(const proto::SqlCommand& command, ResponseSink& sink) {
  const std::string text = command.has_input() && command.input().has_sql() ? command.input().sql().query() : command.sql();
  proto::ExecutePlanResponse response;
  auto* relation = response.mutable_sql_command_result()->mutable_relation();
  if (isQuery(text)) {
    // A query is not run here: the client builds on it. Its errors show now, as in Spark.
    if (command.has_input()) *relation = command.input();
    else relation->mutable_sql()->set_query(text);
    resolve(*relation, sink.cancellation());
  } else {
    StatementContext context;
    context.formats = &server_->formats;
    context.deltaLogs = server_->deltaLogs.get();
    context.timeZone = setting("spark.sql.session.timeZone");
    context.resolve = [&](const proto::Relation& r) { return resolve(r, sink.cancellation()); };
    context.explain = [&](const LogicalPtr& plan, bool extended) { return explain(plan, extended); };
    context.setSetting = [&](const std::string& key, const std::string& value) { setSetting(key, value); };
    context.getSetting = [&](const std::string& key) { return lookUp(key); };
    context.addView = [&](const std::string& name, const LogicalPtr& plan, bool replace) { addView(name, plan, replace); };
    context.hasView = [&](const std::string& name) {
      std::lock_guard lock(mutex_);
      return views_.contains(toLowerAscii(name));
    };
    context.dropView = [&](const std::string& name) { return dropView(name); };
    const StatementResult result = runStatement(text, context);
    relation->mutable_local_relation()->set_data(encodeArrowStream(*result.schema, context.timeZone, result.batches));
  }
  sink.send(std::move(response));
}

void Session::write(const proto::WriteOperation& operation, CancellationToken cancellation) {
  const std::string format = operation.has_source() && !operation.source().empty() ? operation.source() : setting("spark.sql.sources.default");
  const FormatProvider& provider = server_->formats.find(format);
  if (operation.has_table()) throw unsupported("Writing to a table by its name");
  const LogicalPtr plan = optimize(resolve(operation.input(), cancellation));
  if (plan->isStreaming()) {
    throw Error("CALL_ON_STREAMING_DATASET_UNSUPPORTED", "`write` cannot be called on a streaming DataFrame; use writeStream.",
                {{"methodName", "`write`"}});
  }
  if (!provider.openBatchWrite) throw unsupported("Writing the format '" + provider.name + "' as a batch");
  WriteDefinition definition;
  for (const auto& [name, value] : operation.options()) definition.options.set(name, value);
  if (operation.has_path() && !operation.path().empty()) definition.path = operation.path();
  else definition.path = definition.options.get("path");
  definition.partitionColumns.assign(operation.partitioning_columns().begin(), operation.partitioning_columns().end());
  definition.timeZone = setting("spark.sql.session.timeZone");
  definition.ansi = flag("spark.sql.ansi.enabled");

  auto batchWrite = provider.openBatchWrite(definition, server_->formats.fileSystems(), saveModeOf(operation), schemaOf(*plan));
  if (!batchWrite) return;
  Execution execution;
  execution.batch = batchContext();
  execution.cancellation = std::move(cancellation);
  execution.pool = &server_->pool;
  writeRows(*planPhysical(plan, execution.batch), execution, *batchWrite);
}

}  // namespace thalweg
