// Commands of a session: views, SQL texts, batch writes; streaming commands lie in session_streaming.cc.
#include <arrow/api.h>
#include <spark/connect/base.pb.h>

#include "commands/commands.h"
#include "commands/file_tables.h"
#include "commands/new_table.h"
#include "commands/table_write.h"
#include "common/error.h"
#include "exec/pipeline/write.h"
#include "exec/planner/planner.h"
#include "plan/analyze/attribute_name.h"
#include "plan/analyze/sql_arguments.h"
#include "plan/optimize/optimizer.h"
#include "session/clustering_columns.h"
#include "session/observed_metrics.h"
#include "session/results.h"
#include "session/session.h"
#include "session/statement_session.h"
#include "sql/parser.h"

// Fields that Spark has given up: clients of 4.0 and 4.1 still send them.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

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

// Only saveAsTable() would have somewhere to keep buckets.
void refuseBuckets(const proto::WriteOperation& operation) {
  const bool sorted = operation.sort_column_names_size() > 0;
  if (!operation.has_bucket_by()) {
    if (!sorted) return;
    throw Error("SORT_BY_WITHOUT_BUCKETING", "sortBy() sorts inside of buckets: say bucketBy() too, or leave it out.");
  }
  const bool inserts = operation.table().save_method() == proto::WriteOperation::SaveTable::TABLE_SAVE_METHOD_INSERT_INTO;
  if (operation.has_table() && !inserts) throw unsupported("bucketBy and sortBy");
  const std::string call = inserts ? "insertInto" : "save";
  throw Error(sorted ? "_LEGACY_ERROR_TEMP_1313" : "_LEGACY_ERROR_TEMP_1312",
              "'" + call + "' does not support bucketBy" + (sorted ? " and sortBy" : "") + ": leave it out.", {{"operation", call}});
}

}  // namespace

void Session::runCommand(const proto::Command& command, const std::shared_ptr<ResponseSink>& sink) {
  switch (command.command_type_case()) {
    case proto::Command::kCreateDataframeView: {
      const auto& view = command.create_dataframe_view();
      TemporaryViews& views = view.is_global() ? server_->globalViews : views_;
      views.add(view.name(), resolve(view.input()), view.replace());
      break;
    }
    case proto::Command::kSqlCommand: runSql(command.sql_command(), *sink); break;
    case proto::Command::kWriteOperation:
    case proto::Command::kWriteOperationV2: {
      StatementSession session(*this, sink->cancellation());
      if (command.has_write_operation()) write(command.write_operation(), session);
      else writeTo(command.write_operation_v2(), session);
      sendObservedMetrics(session.observed(), *sink);
      break;
    }
    case proto::Command::kExtension: deltaCommand(command.extension(), sink->cancellation()); break;
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
  proto::SQL text;
  if (command.has_input()) {
    const proto::Relation& input = command.input();
    text = input.has_with_relations() ? input.with_relations().root().sql() : input.sql();
  } else {
    text.set_query(command.sql());
  }
  proto::ExecutePlanResponse response;
  auto* relation = response.mutable_sql_command_result()->mutable_relation();
  const SqlArguments arguments(text, setting("spark.sql.session.timeZone"));
  const sql::Statement statement = sql::parseStatement(text.query(), arguments.options());
  if (std::holds_alternative<sql::Query>(statement)) {
    // A query is not run here: the client builds on it. Its errors show now, as in Spark.
    if (command.has_input()) *relation = command.input();
    else *relation->mutable_sql() = text;
    resolve(*relation, sink.cancellation());
  } else {
    StatementSession session(*this, sink.cancellation());
    const CommandResult result = runStatement(statement, text.query(), session);
    relation->mutable_local_relation()->set_data(encodeArrowStream(*result.schema, setting("spark.sql.session.timeZone"), result.batches));
  }
  sink.send(std::move(response));
}

void Session::write(const proto::WriteOperation& operation, StatementSession& session) {
  refuseBuckets(operation);
  if (operation.has_table()) return writeTable(operation, session);
  const std::string format = operation.has_source() && !operation.source().empty() ? operation.source() : setting("spark.sql.sources.default");
  const FormatProvider& provider = server_->formats.find(format);
  const LogicalPtr plan = session.resolve(operation.input());
  if (plan->isStreaming()) {
    throw Error("CALL_ON_STREAMING_DATASET_UNSUPPORTED", "`write` cannot be called on a streaming DataFrame; use writeStream.",
                {{"methodName", "`write`"}});
  }
  if (!provider.openBatchWrite) throw unsupported("Writing the format '" + provider.name + "' as a batch");
  WriteDefinition definition;
  for (const auto& [name, value] : operation.options()) definition.options.set(name, value);
  takeWriteSettings([&](const std::string& key) { return lookUp(key); }, &definition.options);
  definition.cancellation = &session.cancellation();
  if (operation.has_path() && !operation.path().empty()) definition.path = operation.path();
  else definition.path = definition.options.get("path");
  definition.partitionColumns.assign(operation.partitioning_columns().begin(), operation.partitioning_columns().end());
  definition.clusterBy = clusteringOf(operation.clustering_columns(), operation.partitioning_columns_size());
  definition.timeZone = setting("spark.sql.session.timeZone");
  definition.ansi = flag("spark.sql.ansi.enabled");
  if (definition.path && saveModeOf(operation) == SaveMode::Overwrite && !isDeltaProvider(provider.name)) {
    const Location folder = server_->formats.fileSystems().resolve(*definition.path);
    if (readsFilesBelow(*plan, folder)) {
      // Spark removes the files that it is about to read.
      throw Error("UNSUPPORTED_OVERWRITE.PATH", "The folder " + folder.uri() + " cannot be overwritten by rows that are read from it.",
                  {{"path", folder.uri()}});
    }
  }
  if (definition.path) definition.readVersion = versionReadOf(*plan, server_->formats.fileSystems().resolve(*definition.path).uri());

  auto batchWrite = provider.openBatchWrite(definition, server_->formats.fileSystems(), saveModeOf(operation), schemaOf(*plan));
  if (!batchWrite) return;
  session.run(plan, *batchWrite);
}

void Session::writeTable(const proto::WriteOperation& operation, StatementSession& session) {
  TableSave save;
  save.write.table = sql::parseTableName(operation.table().table_name());
  save.write.rows = session.resolve(operation.input());
  for (const auto& [name, value] : operation.options()) save.write.options.set(name, value);
  save.mode = saveModeOf(operation);
  save.write.partitionedBy.assign(operation.partitioning_columns().begin(), operation.partitioning_columns().end());
  save.write.clusterBy = clusteringOf(operation.clustering_columns(), operation.partitioning_columns_size());
  if (operation.table().save_method() == proto::WriteOperation::SaveTable::TABLE_SAVE_METHOD_INSERT_INTO) {
    if (!save.write.partitionedBy.empty()) {
      throw Error("PARTITION_BY_NOT_ALLOWED_WITH_INSERT_INTO", "insertInto() writes into the table's own partitions: leave partitionBy() out.",
                  {{"tableName", operation.table().table_name()}});
    }
    save.write.overwrite = save.mode == SaveMode::Overwrite;
    // As in Spark, only the session's setting lets insertInto() change a schema.
    save.write.options.erase("mergeSchema");
    return insertByPosition(save.write, session);
  }
  save.provider = operation.has_source() && !operation.source().empty() ? operation.source() : setting("spark.sql.sources.default");
  saveAsTable(save, session);
}

void Session::writeTo(const proto::WriteOperationV2& operation, StatementSession& session) {
  TableWrite write{sql::parseTableName(operation.table_name()), session.resolve(operation.input()), {}, false};
  for (const auto& [name, value] : operation.options()) write.options.set(name, value);
  if (operation.with_schema_evolution()) write.options.set("mergeSchema", "true");
  write.clusterBy = clusteringOf(operation.clustering_columns(), operation.partitioning_columns_size());
  using Mode = proto::WriteOperationV2;
  switch (operation.mode()) {
    case Mode::MODE_APPEND: return writeByName(write, session);
    case Mode::MODE_OVERWRITE:
      write.overwrite = true;
      write.replaced = std::make_shared<proto::Expression>(operation.overwrite_condition());
      return writeByName(write, session);
    case Mode::MODE_OVERWRITE_PARTITIONS:
      write.overwrite = true;
      write.options.set("partitionOverwriteMode", "dynamic");
      return writeByName(write, session);
    default: break;
  }
  NewTable table;
  table.name = write.table;
  table.provider = operation.has_provider() && !operation.provider().empty() ? operation.provider() : setting("spark.sql.sources.default");
  table.options = write.options;
  table.location = table.options.get("path");
  table.options.erase("path");
  table.query = write.rows;
  for (const auto& [key, value] : operation.table_properties()) table.properties[key] = value;
  for (const auto& column : operation.partitioning_columns()) {
    if (!column.has_unresolved_attribute()) throw unsupported("partitionedBy() an expression that is no column");
    table.partitionedBy.push_back(parseAttributeName(column.unresolved_attribute().unparsed_identifier()).back());
  }
  table.clusterBy = write.clusterBy;
  table.orReplace = operation.mode() == Mode::MODE_CREATE_OR_REPLACE;
  table.mustExist = operation.mode() == Mode::MODE_REPLACE;
  createTable(table, session);
}

}  // namespace thalweg
