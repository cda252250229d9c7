// A running streaming query: a thread of its own that runs micro-batches, and the handle by which clients watch and stop it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/cancellation.h"
#include "common/error.h"
#include "streaming/query/definition.h"

namespace thalweg {

struct QueryStatus {
  std::string message = "Initializing sources";
  bool isDataAvailable = false;
  bool isTriggerActive = false;
};

// All methods may be called from any thread.
class StreamingQuery {
 public:
  // Opens the checkpoint (so that the id is known and a damaged one is refused here), then starts the thread.
  static std::shared_ptr<StreamingQuery> start(StreamingQueryDefinition definition);
  ~StreamingQuery();

  const std::string& id() const;
  const std::string& runId() const;
  const std::optional<std::string>& name() const;
  const std::string& checkpointPath() const;
  int64_t startedAtMs() const;

  bool isActive() const;
  QueryStatus status() const;
  // The failure that ended the query: STREAM_FAILED with its cause; none while it runs or after a clean end.
  std::optional<Error> exception() const;
  // JSON texts, oldest first.
  std::vector<std::string> recentProgress() const;
  std::optional<std::string> lastProgress() const;
  std::string explain(bool extended) const;

  // Ends the running batch early (it is replayed at the next start) and waits for the thread.
  void stop();
  // Returns when all that was in the sources at the call is in the sink, or throws the query's failure. Unsupported with
  // triggers that end by themselves: returns then at the query's end.
  void processAllAvailable(const CancellationToken& cancellation);
  // Runs `callback` once when the query has ended (at once, on the caller's thread, if it has). It is forgotten when the
  // returned handle dies, though a call that has begun goes on.
  using Registration = std::shared_ptr<void>;
  [[nodiscard]] Registration onTermination(std::function<void()> callback);
  // Waits; true when the query has ended. Throws its failure.
  bool awaitTermination(std::optional<std::chrono::milliseconds> timeout);

 private:
  struct State;
  explicit StreamingQuery(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace thalweg
