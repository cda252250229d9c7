// One client's session: its settings, views and artifacts, and how its requests are carried out.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "exec/pipeline/observed_metrics.h"
#include "plan/analyze/analyzer.h"
#include "catalog/catalog.h"
#include "session/server_state.h"
#include "session/service.h"
#include "session/temporary_views.h"

namespace spark::connect {
class Catalog;
class Command;
class Relation;
class SqlCommand;
class StreamingQueryCommand;
class StreamingQueryManagerCommand;
class WriteOperation;
class WriteOperationV2;
class WriteStreamOperationStart;
}  // namespace spark::connect

namespace delta::connect {
class DeltaRelation;
}

namespace google::protobuf {
class Any;
}

namespace thalweg {

class StatementSession;

// What names in a query mean: under a session's own current schema, or as it was when a stored view was made.
struct ResolutionScope {
  NameScope names;
  CatalogProperties settings = {};    // those that a view was made with; others are the session's
  std::vector<TableName> views = {};  // that are being resolved, the outermost first
  bool ofStoredView = false;          // temporary views are not seen
  bool inSession = false;             // of a view that is being made: a temporary view's name is an error
};

class Session final : public SessionService, public std::enable_shared_from_this<Session> {
 public:
  Session(std::shared_ptr<ServerState> server, std::string key);

  void execute(const spark::connect::ExecutePlanRequest& request, std::shared_ptr<ResponseSink> sink) override;
  void analyze(const spark::connect::AnalyzePlanRequest& request, spark::connect::AnalyzePlanResponse* response) override;
  void config(const spark::connect::ConfigRequest& request, spark::connect::ConfigResponse* response) override;
  std::string configValue(std::string_view key) override;
  bool hasRunningQueries() override;
  void addArtifact(const std::string& name, std::string content) override;
  bool hasArtifact(const std::string& name) override;
  void close() override;

 private:
  // settings (session_config.cc)
  std::optional<std::string> lookUp(const std::string& key) const;
  std::string setting(const std::string& key) const;
  void setSetting(const std::string& key, const std::string& value);
  bool flag(const std::string& key) const { return setting(key) == "true"; }

  // plans (session_plans.cc)
  // `observed` gets what plans observe that analysis itself runs (show).
  AnalyzerContext analyzerContext(CancellationToken cancellation, const ResolutionScope& scope,
                                  std::vector<ObservedMetrics>* observed = nullptr);
  LogicalPtr resolve(const spark::connect::Relation& relation, CancellationToken cancellation = {},
                     std::vector<ObservedMetrics>* observed = nullptr);
  // As resolve, to say something of the plan only: unsupported() where its rows come of changing a table.
  LogicalPtr resolveUnrun(const spark::connect::Relation& relation);
  LogicalPtr catalogQuery(const spark::connect::Catalog& query, CancellationToken cancellation);
  LogicalPtr deltaQuery(::delta::connect::DeltaRelation& query, const CancellationToken& cancellation);

  // names (named_relations.cc)
  NameScope names() const;
  LogicalPtr findRelation(const std::vector<std::string>& name, const Options& options, bool streaming, const ResolutionScope& scope,
                          const CancellationToken& cancellation);
  LogicalPtr tableRelation(const std::string& provider, const std::string& address, const TableEntry* entry, const Options& options,
                           bool streaming);
  LogicalPtr viewRelation(const TableEntry& view, const ResolutionScope& scope, const CancellationToken& cancellation);

  BatchContext batchContext() const;
  std::vector<std::shared_ptr<arrow::RecordBatch>> collect(const LogicalPtr& plan, CancellationToken cancellation,
                                                           std::vector<ObservedMetrics>* observed);
  void runRelation(const spark::connect::Relation& relation, ResponseSink& sink);
  std::string explain(const LogicalPtr& plan, bool extended);

  // commands (session_commands.cc, session_streaming.cc)
  void runCommand(const spark::connect::Command& command, const std::shared_ptr<ResponseSink>& sink);
  void runSql(const spark::connect::SqlCommand& command, ResponseSink& sink);
  void deltaCommand(const google::protobuf::Any& command, const CancellationToken& cancellation);
  void write(const spark::connect::WriteOperation& operation, StatementSession& session);
  void writeTable(const spark::connect::WriteOperation& operation, StatementSession& session);
  void writeTo(const spark::connect::WriteOperationV2& operation, StatementSession& session);
  // A streaming query into a table by name: sets the format and the place; the table is made where it is missing.
  void aimAtTable(const spark::connect::WriteStreamOperationStart& start, const LogicalPtr& plan, std::string* format, WriteDefinition* write);
  void startStream(const spark::connect::WriteStreamOperationStart& start, ResponseSink& sink);
  // True when the operation was ended, or will be by someone else.
  bool queryCommand(const spark::connect::StreamingQueryCommand& command, const std::shared_ptr<ResponseSink>& sink);
  bool managerCommand(const spark::connect::StreamingQueryManagerCommand& command, const std::shared_ptr<ResponseSink>& sink);

  friend class StatementSession;
  std::shared_ptr<ServerState> server_;
  std::string key_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> settings_;
  NameScope names_;
  std::map<std::string, std::string> artifacts_;
  std::set<std::string> cachedNames_;
  TemporaryViews views_;
};

}  // namespace thalweg
