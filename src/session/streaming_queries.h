// The streaming queries of a server: found by id, counted per session, one run a checkpoint.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "streaming/query/streaming_query.h"

namespace thalweg {

// Any thread.
class StreamingQueries {
 public:
  // Starts a query for a session. Refuses a name that is active in the session; a query that runs on the same checkpoint
  // (or has the same id) is stopped first where `stopActiveRun` says so, else the start is refused.
  std::shared_ptr<StreamingQuery> start(const std::string& sessionKey, StreamingQueryDefinition definition, bool stopActiveRun);

  std::vector<std::shared_ptr<StreamingQuery>> active(const std::string& sessionKey) const;
  // By id; a finished one too, the newest run of several. With `runId`: that run.
  std::shared_ptr<StreamingQuery> find(const std::string& sessionKey, const std::string& id,
                                       const std::optional<std::string>& runId = std::nullopt) const;
  bool hasActive(const std::string& sessionKey) const { return !active(sessionKey).empty(); }

  // Runs `callback` once a query of the session has ended since the last resetTerminated; gives its failure, if any.
  void onAnyTermination(const std::string& sessionKey, std::function<void(std::optional<Error>)> callback);
  void resetTerminated(const std::string& sessionKey);

  void stopAll(const std::string& sessionKey);
  void stopEverything();

 private:
  struct Entry {
    std::string sessionKey;
    std::shared_ptr<StreamingQuery> query;
  };
  struct Ended {
    std::string sessionKey;
    std::optional<Error> failure;
  };
  struct Waiter {
    std::string sessionKey;
    std::function<void(std::optional<Error>)> callback;
  };
  void noteEnd(const std::string& sessionKey, const std::weak_ptr<StreamingQuery>& query);
  void dropOldEnded();

  mutable std::mutex mutex_;
  std::mutex startMutex_;
  std::vector<Entry> entries_;
  std::vector<Ended> ended_;
  std::vector<Waiter> waiters_;
};

}  // namespace thalweg
