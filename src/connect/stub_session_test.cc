#include "connect/stub_session.h"

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/writer.h>

#include <chrono>
#include <sstream>
#include <thread>

#include "spark/connect/base.pb.h"

namespace thalweg::connect {
namespace {

using spark::connect::ExecutePlanResponse;

std::string idBatch(int64_t first, int64_t rows) {
  arrow::Int64Builder builder;
  for (int64_t i = 0; i < rows; ++i) THALWEG_ASSERT(builder.Append(first + i).ok());
  const auto schema = arrow::schema({arrow::field("id", arrow::int64(), false)});
  const auto batch = arrow::RecordBatch::Make(schema, rows, {builder.Finish().ValueOrDie()});
  const auto out = arrow::io::BufferOutputStream::Create().ValueOrDie();
  const auto writer = arrow::ipc::MakeStreamWriter(out, schema).ValueOrDie();
  THALWEG_ASSERT(writer->WriteRecordBatch(*batch).ok());
  THALWEG_ASSERT(writer->Close().ok());
  return out->Finish().ValueOrDie()->ToString();
}

void sendRows(ResponseSink& sink, int64_t rows, int batches, int pauseMs) {
  ExecutePlanResponse schema;
  auto* field = schema.mutable_schema()->mutable_struct_()->add_fields();
  field->set_name("id");
  field->mutable_data_type()->mutable_long_();
  sink.send(std::move(schema));
  for (int i = 0; i < batches; ++i) {
    if (i > 0 && sink.cancellation().waitFor(std::chrono::milliseconds(pauseMs)))
      sink.cancellation().throwIfCancelled();
    ExecutePlanResponse response;
    response.mutable_arrow_batch()->set_row_count(rows);
    response.mutable_arrow_batch()->set_start_offset(i * rows);
    response.mutable_arrow_batch()->set_data(idBatch(i * rows, rows));
    sink.send(std::move(response));
  }
  sink.complete();
}

Error deepError() {
  return Error("DIVIDE_BY_ZERO", "Division by zero.", {{"config", "spark.sql.ansi.enabled"}})
      .withQueryContext({"1/0", 7, 9})
      .withCause(Error("ARITHMETIC_OVERFLOW", "The first cause."));
}

}  // namespace

void StubSession::execute(const spark::connect::ExecutePlanRequest& request,
                          std::shared_ptr<ResponseSink> sink) {
  ++executions;
  if (request.plan().has_command()) {
    if (request.plan().command().has_sql_command()) {
      ExecutePlanResponse response;
      *response.mutable_sql_command_result()->mutable_relation() =
          request.plan().command().sql_command().input();
      sink->send(std::move(response));
    } else if (request.plan().command().has_ml_command()) {
      ExecutePlanResponse response;
      response.mutable_ml_command_result();
      sink->send(std::move(response));
    }
    sink->complete();
    return;
  }
  const std::string text =
      request.plan().root().has_sql() ? request.plan().root().sql().query() : "rows 3 1 0";
  std::istringstream words(text);
  std::string verb;
  int64_t size = 0;
  int count = 0;
  int pauseMs = 0;
  words >> verb >> size >> count >> pauseMs;
  if (verb == "rows") {
    sendRows(*sink, size, count, pauseMs);
  } else if (verb == "bytes") {
    for (int i = 0; i < count; ++i) {
      ExecutePlanResponse response;
      response.mutable_arrow_batch()->set_data(std::string(static_cast<size_t>(size), 'x'));
      sink->send(std::move(response));
      ++sent;
    }
    sink->complete();
  } else if (text == "fail deeply") {
    throw deepError();
  } else if (text == "fail long") {
    throw Error("INVALID_OPTION", "\xff" + std::string(100'000, 'm') + "\xc3",
                {{"value", std::string(5000, 'p')}});
  } else if (verb == "block") {
    while (!sink->cancellation().waitFor(std::chrono::hours(1))) {
    }
    sink->cancellation().throwIfCancelled();
  } else if (verb == "wait") {
    {
      std::lock_guard lock(mutex_);
      waiting_ = sink;
    }
    registration_ = sink->cancellation().onCancel([this] {
      std::lock_guard inner(mutex_);
      waiting_ = nullptr;
    });
  } else {
    throw Error("TABLE_OR_VIEW_NOT_FOUND", "There is no table or view `" + text + "`.",
                {{"relationName", "`" + text + "`"}});
  }
}

void StubSession::finishWaiting() {
  std::shared_ptr<ResponseSink> sink;
  {
    std::lock_guard lock(mutex_);
    sink = std::move(waiting_);
  }
  if (sink) sink->complete();
}

void StubSession::analyze(const spark::connect::AnalyzePlanRequest& request,
                          spark::connect::AnalyzePlanResponse* response) {
  if (request.has_spark_version()) {
    response->mutable_spark_version()->set_version("4.2.0");
  } else if (request.has_schema() && request.schema().plan().root().has_sql()) {
    if (request.schema().plan().root().sql().query() == "fail") {
      throw Error("TABLE_OR_VIEW_NOT_FOUND", "There is no table or view `fail`.",
                  {{"relationName", "`fail`"}});
    }
    response->mutable_schema()->mutable_schema()->mutable_struct_();
  } else {
    throw unsupported("This variant of AnalyzePlan");
  }
}

void StubSession::config(const spark::connect::ConfigRequest& request,
                         spark::connect::ConfigResponse* response) {
  std::lock_guard lock(mutex_);
  const auto answer = [&](const std::string& key, const std::string& value) {
    auto* pair = response->add_pairs();
    pair->set_key(key);
    pair->set_value(value);
  };
  const auto& operation = request.operation();
  for (const auto& pair : operation.set().pairs()) settings_[pair.key()] = pair.value();
  for (const std::string& key : operation.get().keys()) {
    const auto found = settings_.find(key);
    if (found == settings_.end()) {
      throw Error("SQL_CONF_NOT_FOUND", "The setting " + key + " is not known.", {{"sqlConf", key}});
    }
    answer(key, found->second);
  }
  for (const auto& pair : operation.get_with_default().pairs()) {
    const auto found = settings_.find(pair.key());
    answer(pair.key(), found == settings_.end() ? pair.value() : found->second);
  }
  for (const std::string& key : operation.unset().keys()) settings_.erase(key);
}

std::string StubSession::configValue(std::string_view key) {
  std::lock_guard lock(mutex_);
  const auto found = settings_.find(std::string(key));
  return found == settings_.end() ? "" : found->second;
}

void StubSession::addArtifact(const std::string& name, std::string content) {
  if (name.rfind("cache/", 0) != 0) return SessionService::addArtifact(name, std::move(content));
  std::lock_guard lock(mutex_);
  artifacts_[name] = std::move(content);
}

bool StubSession::hasArtifact(const std::string& name) {
  std::lock_guard lock(mutex_);
  return artifacts_.count(name) != 0;
}

std::shared_ptr<SessionService> StubSessionFactory::makeSession(const std::string& userId,
                                                                const std::string& sessionId) {
  auto session = std::make_shared<StubSession>();
  std::lock_guard lock(mutex_);
  sessions_[sessionId] = session;
  return session;
}

std::shared_ptr<StubSession> StubSessionFactory::session(const std::string& sessionId) {
  std::lock_guard lock(mutex_);
  const auto found = sessions_.find(sessionId);
  return found == sessions_.end() ? nullptr : found->second;
}

}  // namespace thalweg::connect
