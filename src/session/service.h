// What the Spark Connect service asks of a session: plans in, responses out. connect/ carries them over gRPC and knows
// nothing of their meaning; session/ knows nothing of the wire.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/cancellation.h"
#include "common/error.h"

namespace spark::connect {
class AnalyzePlanRequest;
class AnalyzePlanResponse;
class ConfigRequest;
class ConfigResponse;
class ExecutePlanRequest;
class ExecutePlanResponse;
}  // namespace spark::connect

namespace thalweg {

// Where an operation's responses go. Any thread; the order of send calls is the order on the wire. Ids, session fields and
// the closing result_complete are the receiver's work: session/ fills only the response's payload.
// Exactly one of complete and fail ends an operation, from any thread, also after execute has returned.
class ResponseSink {
 public:
  virtual ~ResponseSink() = default;
  // Waits while the client is slow and the bounded buffer is full; throws Error OPERATION_CANCELED once cancelled.
  virtual void send(spark::connect::ExecutePlanResponse&& response) = 0;
  virtual void complete() = 0;
  virtual void fail(const Error& error) = 0;
  // Cancelled by Interrupt, by ReleaseSession and at shutdown.
  virtual CancellationToken& cancellation() = 0;
};

// One client's session. All methods may be called from any thread, several at once; they throw Error.
class SessionService {
 public:
  virtual ~SessionService() = default;

  // Runs a plan's root or command. The request lives until execute returns. Called on a thread that may block for as long as the plan runs; a command that waits
  // for hours (awaitTermination, a listener's stream) returns at once and ends the operation later.
  virtual void execute(const spark::connect::ExecutePlanRequest& request, std::shared_ptr<ResponseSink> sink) = 0;
  virtual void analyze(const spark::connect::AnalyzePlanRequest& request, spark::connect::AnalyzePlanResponse* response) = 0;
  virtual void config(const spark::connect::ConfigRequest& request, spark::connect::ConfigResponse* response) = 0;

  // A configuration value of the session, or the server's default; empty where neither has it.
  virtual std::string configValue(std::string_view key) = 0;
  // True while streaming queries run: the session then does not expire though no client calls.
  virtual bool hasRunningQueries() { return false; }

  // A file that the client uploads, named as by Spark ("cache/<sha256>", "pyfiles/...", "files/..."): its checksum was
  // compared and its size counted against the session's bound. The default refuses every file by name.
  virtual void addArtifact(const std::string& name, std::string content) {
    throw unsupported("The upload of the artifact " + name);
  }
  virtual bool hasArtifact(const std::string& name) { return false; }

  // Stops the session's queries and drops its views. Called once, last; running operations were cancelled before.
  virtual void close() = 0;
};

// Makes sessions; one a server. Any thread.
class SessionFactory {
 public:
  virtual ~SessionFactory() = default;
  virtual std::shared_ptr<SessionService> makeSession(const std::string& userId, const std::string& sessionId) = 0;
  // Stops every query of every session cleanly (SIGTERM).
  virtual void shutDown() = 0;
};

// What the operator gives on the command line.
struct ServerOptions {
  std::vector<std::string> allowedRoots;
  // Folder of tables made by name; empty: spark-warehouse, in the working directory or below the first allowed root.
  std::string warehouse;
  std::string catalogFile;  // SQLite file on local disk; empty: _catalog.sqlite in the warehouse
  std::vector<std::pair<std::string, std::string>> configuration;  // server-wide defaults of session settings
  bool reachableFromOutside = false;  // bound beyond loopback
};

std::shared_ptr<SessionFactory> makeSessionFactory(const ServerOptions& options);

}  // namespace thalweg
