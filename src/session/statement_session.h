// One statement's view of its session: what commands/ may ask.
#pragma once

#include "commands/command_session.h"
#include "exec/pipeline/observed_metrics.h"
#include "session/session.h"

namespace thalweg {

// Lives as long as the statement runs; its plans end when `cancellation` does.
class StatementSession final : public CommandSession {
 public:
  StatementSession(Session& session, CancellationToken cancellation)
      : session_(session), cancellation_(std::move(cancellation)) {}

  Catalog& catalog() override;
  const FormatRegistry& formats() override;
  std::shared_ptr<delta::DeltaLog> deltaLog(const Location& table) override;
  NameScope names() override;
  void setNames(NameScope names) override;
  std::optional<std::string> lookUp(const std::string& key) const override;
  void setSetting(const std::string& key, const std::string& value) override;
  void resetSetting(const std::optional<std::string>& key) override;
  void addTempView(TempViews where, const std::string& name, LogicalPtr plan, bool replace) override;
  bool dropTempView(TempViews where, const std::string& name) override;
  LogicalPtr findTempView(TempViews where, const std::string& name) override;
  std::vector<std::string> tempViews(TempViews where) override;
  void setCached(const std::string& name, bool cached) override;
  bool isCached(const std::string& name) override;
  void clearCached() override;
  LogicalPtr resolve(const spark::connect::Relation& query) override;
  LogicalPtr resolveForView(const spark::connect::Relation& query, const TableName& view) override;
  ExpressionPtr resolveConstant(const spark::connect::Expression& value) override;
  std::string explain(const LogicalPtr& plan, bool extended) override;
  void run(const LogicalPtr& plan, BatchWrite& write) override;
  BatchContext batchContext() const override;
  AnalyzerContext analyzerContext() override;
  TaskPool& pool() override;
  const CancellationToken& cancellation() const override { return cancellation_; }
  // What the plans that have run here observed.
  const std::vector<ObservedMetrics>& observed() const { return observed_; }

 private:
  TemporaryViews& views(TempViews where);
  Session& session_;
  CancellationToken cancellation_;
  std::vector<ObservedMetrics> observed_;
};

}  // namespace thalweg
