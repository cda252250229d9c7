// The streaming queries of a server: found by id, counted per session, one run a checkpoint.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "streaming/query/streaming_query.h"

namespace thalweg {

// Any thread. Sessions are named by keys that are never used again.
class StreamingQueries {
 public:
  // Stops every query.
  ~StreamingQueries();

  // Starts a query for a session. Refuses a session that was closed, and a name that is active in the session; a query that
  // runs on the same checkpoint is stopped first where `stopActiveRun` says so, else the start is refused.
  std::shared_ptr<StreamingQuery> start(const std::string& sessionKey, StreamingQueryDefinition definition, bool stopActiveRun);

  std::vector<std::shared_ptr<StreamingQuery>> active(const std::string& sessionKey) const;
  // By id; a finished one too, the newest run of several. With `runId`: that run.
  std::shared_ptr<StreamingQuery> find(const std::string& sessionKey, const std::string& id,
                                       const std::optional<std::string>& runId = std::nullopt) const;
  bool hasActive(const std::string& sessionKey) const { return !active(sessionKey).empty(); }

  // Runs `callback` once a query of the session has ended since the last resetTerminated (at once where one has); gives its
  // failure, if any. Forgotten when the returned handle dies.
  using Registration = std::shared_ptr<void>;
  [[nodiscard]] Registration onAnyTermination(const std::string& sessionKey, std::function<void(std::optional<Error>)> callback);
  void resetTerminated(const std::string& sessionKey);

  // Stops the session's queries and lets none start any more.
  void closeSession(const std::string& sessionKey);
  // The same for all sessions, those to come included.
  void closeAll();

 private:
  struct Entry {
    std::string sessionKey;
    std::shared_ptr<StreamingQuery> query;
    StreamingQuery::Registration termination;
  };
  // What became of a session's queries since the last reset: that one ended, and the first failure.
  struct Ended {
    std::optional<Error> failure;
  };
  struct Waiters;

  void noteEnd(const std::string& sessionKey, const std::weak_ptr<StreamingQuery>& query);
  std::vector<Entry> takeOldEnded();
  void refuseIfClosed(const std::string& sessionKey) const;

  mutable std::mutex mutex_;
  std::mutex startMutex_;
  std::vector<Entry> entries_;
  std::map<std::string, Ended> ended_;
  std::shared_ptr<Waiters> waiters_ = makeWaiters();
  static std::shared_ptr<Waiters> makeWaiters();
  std::set<std::string> closedSessions_;
  bool closed_ = false;
};

}  // namespace thalweg
