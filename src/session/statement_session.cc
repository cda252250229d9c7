#include "session/statement_session.h"

#include <charconv>

#include <spark/connect/relations.pb.h>

#include "common/error.h"
#include "common/options.h"
#include "exec/pipeline/write.h"
#include "exec/planner/planner.h"
#include "plan/optimize/optimizer.h"
#include "session/observed_metrics.h"

namespace thalweg {
namespace {

int64_t requirePositive(const std::string& key, const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value > 0) return value;
  throw Error("INVALID_CONF_VALUE.TYPE_MISMATCH",
              "The setting " + key + " takes a number above 0, not '" + text + "'.",
              {{"confName", key}, {"confValue", text}, {"confType", "number"}});
}

// Nothing where the session says nothing of checkpoints: what others said of the table stays.
std::optional<delta::CheckpointSettings> checkpointSettings(const CommandSession& session) {
  const auto partSize = session.lookUp("spark.databricks.delta.checkpoint.partSize");
  const auto format = session.lookUp("spark.databricks.delta.checkpointV2.topLevelFileFormat");
  if (!partSize && !format) return std::nullopt;
  delta::CheckpointSettings settings;
  if (partSize) settings.partSize = requirePositive("spark.databricks.delta.checkpoint.partSize", *partSize);
  settings.parquetTopLevel = format && equalsIgnoreCase(*format, "parquet");
  return settings;
}

}  // namespace

Catalog& StatementSession::catalog() {
  return session_.server_->catalog;
}
const FormatRegistry& StatementSession::formats() {
  return session_.server_->formats;
}
std::shared_ptr<delta::DeltaLog> StatementSession::deltaLog(const Location& table) {
  auto log = session_.server_->deltaLogs->get(table);
  if (const auto settings = checkpointSettings(*this)) log->setCheckpointSettings(*settings);
  return log;
}

NameScope StatementSession::names() {
  return session_.names();
}

void StatementSession::setNames(NameScope names) {
  std::lock_guard lock(session_.mutex_);
  session_.names_ = std::move(names);
}

std::optional<std::string> StatementSession::lookUp(const std::string& key) const {
  return session_.lookUp(key);
}
void StatementSession::setSetting(const std::string& key, const std::string& value) {
  session_.setSetting(key, value);
}

void StatementSession::resetSetting(const std::optional<std::string>& key) {
  std::lock_guard lock(session_.mutex_);
  if (key)
    session_.settings_.erase(*key);
  else
    session_.settings_.clear();
}

TemporaryViews& StatementSession::views(TempViews where) {
  return where == TempViews::Global ? session_.server_->globalViews : session_.views_;
}

void StatementSession::addTempView(TempViews where, const std::string& name, LogicalPtr plan, bool replace) {
  views(where).add(name, std::move(plan), replace);
}
bool StatementSession::dropTempView(TempViews where, const std::string& name) {
  return views(where).drop(name);
}
LogicalPtr StatementSession::findTempView(TempViews where, const std::string& name) {
  return views(where).find(name);
}
std::vector<std::string> StatementSession::tempViews(TempViews where) {
  return views(where).names();
}

void StatementSession::setCached(const std::string& name, bool cached) {
  std::lock_guard lock(session_.mutex_);
  if (cached)
    session_.cachedNames_.insert(name);
  else
    session_.cachedNames_.erase(name);
}

bool StatementSession::isCached(const std::string& name) {
  std::lock_guard lock(session_.mutex_);
  return session_.cachedNames_.contains(name);
}

void StatementSession::clearCached() {
  std::lock_guard lock(session_.mutex_);
  session_.cachedNames_.clear();
}

LogicalPtr StatementSession::resolve(const spark::connect::Relation& query) {
  return session_.resolve(query, cancellation_);
}

LogicalPtr StatementSession::resolveForView(const spark::connect::Relation& query, const TableName& view) {
  ResolutionScope scope{session_.names(), {}, {view}, /*ofStoredView=*/true, /*inSession=*/true};
  return analyzeRelation(query, session_.analyzerContext(cancellation_, scope));
}

ExpressionPtr StatementSession::resolveConstant(const spark::connect::Expression& value) {
  // The one column of SELECT value.
  spark::connect::Relation select;
  *select.mutable_project()->add_expressions() = value;
  const LogicalPtr plan = session_.resolve(select, cancellation_);
  const auto& project = static_cast<const LogicalProject&>(*plan);
  const ExpressionPtr& column = project.expressions().at(0);
  return column->kind() == ExpressionKind::Alias ? column->children()[0] : column;
}

std::string StatementSession::explain(const LogicalPtr& plan, bool extended) {
  return session_.explain(plan, extended);
}

void StatementSession::run(const LogicalPtr& plan, BatchWrite& write) {
  Execution execution;
  execution.batch = session_.batchContext();
  execution.cancellation = cancellation_;
  execution.pool = &session_.server_->pool;
  const PhysicalPtr physical = planPhysical(optimize(plan), execution.batch);
  writeRows(*physical, execution, write);
  addObserved(execution, &observed_);
}

AnalyzerContext StatementSession::analyzerContext() {
  return session_.analyzerContext(cancellation_, {session_.names()});
}
TaskPool& StatementSession::pool() {
  return session_.server_->pool;
}
BatchContext StatementSession::batchContext() const {
  return session_.batchContext();
}

}  // namespace thalweg
