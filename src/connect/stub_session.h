// A session for tests of the wire: its "queries" are texts that say what the operation is to do.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "session/service.h"

namespace thalweg::connect {

// A relation `sql` with one of these texts:
//   rows N BATCHES PAUSE_MS   BATCHES Arrow batches of N longs "id", counted on; PAUSE_MS between them
//   bytes N COUNT             COUNT responses of N bytes that are not Arrow
//   fail                      TABLE_OR_VIEW_NOT_FOUND with parameters
//   fail deeply               DIVIDE_BY_ZERO with a query context and a cause
//   fail long                 a message of 100,000 characters, not all of them UTF-8
//   block                     holds its thread until cancelled
//   wait                      returns at once and stays open until it is cancelled, or finished by
//   finishWaiting
// Any other relation answers "rows 3 1 0". The command sql_command echoes its relation.
class StubSession final : public SessionService {
 public:
  void execute(const spark::connect::ExecutePlanRequest& request,
               std::shared_ptr<ResponseSink> sink) override;
  void analyze(const spark::connect::AnalyzePlanRequest& request,
               spark::connect::AnalyzePlanResponse* response) override;
  void config(const spark::connect::ConfigRequest& request,
              spark::connect::ConfigResponse* response) override;
  std::string configValue(std::string_view key) override;
  void addArtifact(const std::string& name, std::string content) override;
  bool hasArtifact(const std::string& name) override;
  void close() override { closed = true; }

  void finishWaiting();

  std::atomic<bool> closed{false};
  std::atomic<int> sent{0};
  std::atomic<int> executions{0};

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> settings_{
      {"spark.connect.session.planCompression.threshold", "10485760"},
      {"spark.connect.session.planCompression.defaultAlgorithm", "ZSTD"},
      {"spark.sql.connect.serverStacktrace.enabled", "true"},
      {"spark.sql.pyspark.jvmStacktrace.enabled", "false"},
      {"spark.sql.session.timeZone", "UTC"},
      {"spark.sql.timestampType", "TIMESTAMP_LTZ"},
      {"spark.sql.execution.pandas.structHandlingMode", "legacy"},
      {"spark.sql.execution.arrow.pyspark.selfDestruct.enabled", "false"},
      {"spark.sql.execution.pyspark.binaryAsBytes", "true"},
  };
  std::map<std::string, std::string> artifacts_;
  std::shared_ptr<ResponseSink> waiting_;
  CancellationToken::Registration registration_;
};

class StubSessionFactory final : public SessionFactory {
 public:
  std::shared_ptr<SessionService> makeSession(const std::string& userId,
                                              const std::string& sessionId) override;
  void shutDown() override { isShutDown = true; }
  // The latest session under the id; null if there is none.
  std::shared_ptr<StubSession> session(const std::string& sessionId);

  std::atomic<bool> isShutDown{false};

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<StubSession>> sessions_;
};

}  // namespace thalweg::connect
