#include "session/streaming_queries.h"

#include <algorithm>

#include "common/error.h"

namespace thalweg {
namespace {

// Finished queries stay findable so that a client may ask for their failure.
constexpr size_t kKeptEnded = 1000;

}  // namespace

std::shared_ptr<StreamingQuery> StreamingQueries::start(const std::string& sessionKey, StreamingQueryDefinition definition,
                                                        bool stopActiveRun) {
  // One start at a time: two on one checkpoint must see each other.
  std::lock_guard starting(startMutex_);
  std::vector<std::shared_ptr<StreamingQuery>> toStop;
  {
    std::lock_guard lock(mutex_);
    for (const Entry& entry : entries_) {
      if (!entry.query->isActive()) continue;
      if (definition.name && entry.sessionKey == sessionKey && entry.query->name() == definition.name) {
        throw Error(ErrorKind::IllegalArgument, "CONCURRENT_QUERY.NAME",
                    "A query named '" + *definition.name + "' runs in this session already; stop it, or choose another name.");
      }
      if (entry.query->checkpointPath() == definition.checkpoint.path) toStop.push_back(entry.query);
    }
  }
  for (const auto& query : toStop) {
    if (!stopActiveRun) {
      throw Error("CONCURRENT_QUERY", "A query with id " + query->id() + " runs on this checkpoint already; stop it first.");
    }
    query->stop();
  }
  std::shared_ptr<StreamingQuery> query = StreamingQuery::start(std::move(definition));
  {
    std::lock_guard lock(mutex_);
    entries_.push_back({sessionKey, query});
    dropOldEnded();
  }
  query->onTermination([this, sessionKey, weak = std::weak_ptr(query)] { noteEnd(sessionKey, weak); });
  return query;
}

void StreamingQueries::dropOldEnded() {
  size_t ended = static_cast<size_t>(std::count_if(entries_.begin(), entries_.end(), [](const Entry& e) { return !e.query->isActive(); }));
  std::erase_if(entries_, [&](const Entry& entry) { return ended > kKeptEnded && !entry.query->isActive() && ended-- > 0; });
}

void StreamingQueries::noteEnd(const std::string& sessionKey, const std::weak_ptr<StreamingQuery>& weak) {
  std::optional<Error> failure;
  if (const auto query = weak.lock()) failure = query->exception();
  std::vector<Waiter> due;
  {
    std::lock_guard lock(mutex_);
    ended_.push_back({sessionKey, failure});
    auto split = std::partition(waiters_.begin(), waiters_.end(), [&](const Waiter& w) { return w.sessionKey != sessionKey; });
    due.assign(std::make_move_iterator(split), std::make_move_iterator(waiters_.end()));
    waiters_.erase(split, waiters_.end());
  }
  for (Waiter& waiter : due) waiter.callback(failure);
}

std::vector<std::shared_ptr<StreamingQuery>> StreamingQueries::active(const std::string& sessionKey) const {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<StreamingQuery>> result;
  for (const Entry& entry : entries_) {
    if (entry.sessionKey == sessionKey && entry.query->isActive()) result.push_back(entry.query);
  }
  return result;
}

std::shared_ptr<StreamingQuery> StreamingQueries::find(const std::string& sessionKey, const std::string& id,
                                                       const std::optional<std::string>& runId) const {
  std::lock_guard lock(mutex_);
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (entry->sessionKey != sessionKey || entry->query->id() != id) continue;
    if (!runId || entry->query->runId() == *runId) return entry->query;
  }
  return nullptr;
}

void StreamingQueries::onAnyTermination(const std::string& sessionKey, std::function<void(std::optional<Error>)> callback) {
  std::optional<Error> failure;
  {
    std::lock_guard lock(mutex_);
    bool found = false;
    for (const Ended& end : ended_) {
      if (end.sessionKey != sessionKey) continue;
      found = true;
      if (!failure) failure = end.failure;
    }
    if (!found) {
      waiters_.push_back({sessionKey, std::move(callback)});
      return;
    }
  }
  callback(failure);
}

void StreamingQueries::resetTerminated(const std::string& sessionKey) {
  std::lock_guard lock(mutex_);
  std::erase_if(ended_, [&](const Ended& end) { return end.sessionKey == sessionKey; });
}

void StreamingQueries::stopAll(const std::string& sessionKey) {
  for (const auto& query : active(sessionKey)) query->stop();
  std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const Entry& entry) { return entry.sessionKey == sessionKey; });
  std::erase_if(ended_, [&](const Ended& end) { return end.sessionKey == sessionKey; });
  std::erase_if(waiters_, [&](const Waiter& waiter) { return waiter.sessionKey == sessionKey; });
}

void StreamingQueries::stopEverything() {
  std::vector<std::shared_ptr<StreamingQuery>> all;
  {
    std::lock_guard lock(mutex_);
    for (const Entry& entry : entries_) all.push_back(entry.query);
  }
  for (const auto& query : all) query->stop();
}

}  // namespace thalweg
