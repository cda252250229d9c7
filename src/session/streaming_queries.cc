#include "session/streaming_queries.h"

#include <algorithm>

#include "common/error.h"
#include "common/logging.h"

namespace thalweg {
namespace {

// Finished queries stay findable so that a client may ask for their failure.
constexpr size_t kKeptEnded = 1000;

std::string shownName(const StreamingQuery& query) {
  return query.name() ? query.id() + " ('" + *query.name() + "')" : query.id();
}

}  // namespace

// Apart from the queries, so that a registration may outlive them.
struct StreamingQueries::Waiters {
  struct Waiter {
    std::string sessionKey;
    std::function<void(std::optional<Error>)> callback;
  };
  std::mutex mutex;
  int64_t nextId = 0;
  std::map<int64_t, Waiter> byId;

  std::vector<Waiter> take(const std::function<bool(const Waiter&)>& wanted) {
    std::vector<Waiter> taken;
    std::lock_guard lock(mutex);
    for (auto it = byId.begin(); it != byId.end();) {
      if (!wanted(it->second)) {
        ++it;
        continue;
      }
      taken.push_back(std::move(it->second));
      it = byId.erase(it);
    }
    return taken;
  }
};

std::shared_ptr<StreamingQueries::Waiters> StreamingQueries::makeWaiters() { return std::make_shared<Waiters>(); }

StreamingQueries::~StreamingQueries() { closeAll(); }

void StreamingQueries::refuseIfClosed(const std::string& sessionKey) const {
  if (closed_ || closedSessions_.contains(sessionKey)) {
    throw Error("INVALID_HANDLE.SESSION_CLOSED", "The session was closed: no query can be started in it.", {{"handle", sessionKey}});
  }
}

std::shared_ptr<StreamingQuery> StreamingQueries::start(const std::string& sessionKey, StreamingQueryDefinition definition,
                                                        bool stopActiveRun) {
  std::shared_ptr<StreamingQuery> query;
  std::vector<Entry> forgotten;  // destroyed, and so joined, after the locks
  {
    // One start at a time: two on one checkpoint must see each other.
    std::lock_guard starting(startMutex_);
    std::vector<std::shared_ptr<StreamingQuery>> toStop;
    {
      std::lock_guard lock(mutex_);
      refuseIfClosed(sessionKey);
      for (const Entry& entry : entries_) {
        if (!entry.query->isActive()) continue;
        if (definition.name && entry.sessionKey == sessionKey && entry.query->name() == definition.name) {
          throw Error(ErrorKind::IllegalArgument, "CONCURRENT_QUERY.NAME",
                      "A query named '" + *definition.name + "' runs in this session already; stop it, or choose another name.");
        }
        if (entry.query->checkpointPath() == definition.checkpoint.path) toStop.push_back(entry.query);
      }
    }
    for (const auto& running : toStop) {
      if (!stopActiveRun) {
        throw Error("CONCURRENT_QUERY", "A query with id " + running->id() + " runs on this checkpoint already; stop it first.");
      }
      running->stop();
    }
    query = StreamingQuery::start(std::move(definition));
    std::lock_guard lock(mutex_);
    if (closed_ || closedSessions_.contains(sessionKey)) {
      forgotten.push_back({sessionKey, query, nullptr});
    } else {
      entries_.push_back({sessionKey, query, nullptr});
      forgotten = takeOldEnded();
    }
  }
  logInfo("query {} started in session {}: checkpoint {}", shownName(*query), sessionKey, query->checkpointPath());
  auto registration = query->onTermination([this, sessionKey, weak = std::weak_ptr(query)] { noteEnd(sessionKey, weak); });
  std::lock_guard lock(mutex_);
  refuseIfClosed(sessionKey);
  for (Entry& entry : entries_) {
    if (entry.query == query) entry.termination = std::move(registration);
  }
  return query;
}

std::vector<StreamingQueries::Entry> StreamingQueries::takeOldEnded() {
  std::vector<Entry> old;
  size_t ended = static_cast<size_t>(std::count_if(entries_.begin(), entries_.end(), [](const Entry& e) { return !e.query->isActive(); }));
  for (auto it = entries_.begin(); it != entries_.end() && ended > kKeptEnded;) {
    if (it->query->isActive()) {
      ++it;
      continue;
    }
    old.push_back(std::move(*it));
    it = entries_.erase(it);
    --ended;
  }
  return old;
}

void StreamingQueries::noteEnd(const std::string& sessionKey, const std::weak_ptr<StreamingQuery>& weak) {
  std::optional<Error> failure;
  if (const auto query = weak.lock()) {
    failure = query->exception();
    if (!failure) logInfo("query {} ended", shownName(*query));
  }
  {
    std::lock_guard lock(mutex_);
    Ended& ended = ended_[sessionKey];
    if (!ended.failure) ended.failure = failure;
  }
  for (auto& waiter : waiters_->take([&](const Waiters::Waiter& w) { return w.sessionKey == sessionKey; })) waiter.callback(failure);
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

StreamingQueries::Registration StreamingQueries::onAnyTermination(const std::string& sessionKey,
                                                                  std::function<void(std::optional<Error>)> callback) {
  std::optional<Error> failure;
  {
    std::lock_guard lock(mutex_);
    if (auto it = ended_.find(sessionKey); it == ended_.end()) {
      std::lock_guard inner(waiters_->mutex);
      const int64_t id = waiters_->nextId++;
      waiters_->byId.emplace(id, Waiters::Waiter{sessionKey, std::move(callback)});
      return Registration(nullptr, [waiters = waiters_, id](void*) {
        Waiters::Waiter dropped;
        std::lock_guard last(waiters->mutex);
        if (auto found = waiters->byId.find(id); found != waiters->byId.end()) {
          dropped = std::move(found->second);
          waiters->byId.erase(found);
        }
      });
    } else {
      failure = it->second.failure;
    }
  }
  callback(failure);
  return nullptr;
}

void StreamingQueries::resetTerminated(const std::string& sessionKey) {
  std::lock_guard lock(mutex_);
  ended_.erase(sessionKey);
}

void StreamingQueries::closeSession(const std::string& sessionKey) {
  std::vector<Entry> mine;
  {
    std::lock_guard lock(mutex_);
    closedSessions_.insert(sessionKey);
    for (auto it = entries_.begin(); it != entries_.end();) {
      if (it->sessionKey != sessionKey) {
        ++it;
        continue;
      }
      mine.push_back(std::move(*it));
      it = entries_.erase(it);
    }
  }
  // Outside the lock: a query that ends takes it.
  for (Entry& entry : mine) entry.query->stop();
  mine.clear();
  waiters_->take([&](const Waiters::Waiter& w) { return w.sessionKey == sessionKey; });
  std::lock_guard lock(mutex_);
  ended_.erase(sessionKey);
}

void StreamingQueries::closeAll() {
  std::vector<Entry> all;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    all.swap(entries_);
  }
  for (Entry& entry : all) entry.query->stop();
}

}  // namespace thalweg
