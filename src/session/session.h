// One client's session: its settings, views and artifacts, and how its requests are carried out.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "plan/analyze/analyzer.h"
#include "session/server_state.h"
#include "session/service.h"

namespace spark::connect {
class Command;
class Relation;
class SqlCommand;
class StreamingQueryCommand;
class StreamingQueryManagerCommand;
class WriteOperation;
class WriteStreamOperationStart;
}  // namespace spark::connect

namespace thalweg {

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
  AnalyzerContext analyzerContext(CancellationToken cancellation);
  LogicalPtr resolve(const spark::connect::Relation& relation, CancellationToken cancellation = {});
  LogicalPtr findRelation(const std::vector<std::string>& name, const Options& options, bool streaming);
  BatchContext batchContext() const;
  std::vector<std::shared_ptr<arrow::RecordBatch>> collect(const LogicalPtr& plan, CancellationToken cancellation);
  void runRelation(const LogicalPtr& plan, ResponseSink& sink);
  std::string explain(const LogicalPtr& plan, bool extended);

  // commands (session_commands.cc, session_streaming.cc)
  void runCommand(const spark::connect::Command& command, const std::shared_ptr<ResponseSink>& sink);
  void runSql(const spark::connect::SqlCommand& command, ResponseSink& sink);
  void write(const spark::connect::WriteOperation& operation, CancellationToken cancellation);
  void startStream(const spark::connect::WriteStreamOperationStart& start, ResponseSink& sink);
  std::string temporaryFolder() const;
  // True when the operation was ended, or will be by someone else.
  bool queryCommand(const spark::connect::StreamingQueryCommand& command, const std::shared_ptr<ResponseSink>& sink);
  bool managerCommand(const spark::connect::StreamingQueryManagerCommand& command, const std::shared_ptr<ResponseSink>& sink);
  // Throws Error TEMP_TABLE_OR_VIEW_ALREADY_EXISTS where the name is taken and may not be replaced.
  void addView(const std::string& name, LogicalPtr plan, bool replace);
  bool dropView(const std::string& name);

  std::shared_ptr<ServerState> server_;
  std::string key_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> settings_;
  std::map<std::string, LogicalPtr> views_;  // by lower-case name
  std::map<std::string, std::string> artifacts_;
};

}  // namespace thalweg
