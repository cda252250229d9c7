#include "connect/session_registry.h"

#include <fmt/format.h>

#include "common/logging.h"
#include "common/uuid.h"

namespace thalweg::connect {
namespace {

constexpr size_t kClosedRemembered = 1000;

Error handleError(const std::string& condition, const SessionKey& key, const std::string& text) {
  return Error("INVALID_HANDLE." + condition, "The handle " + key.sessionId + " is invalid. " + text,
               {{"handle", key.sessionId}});
}

Error changed(const SessionKey& key) {
  return handleError(
      "SESSION_CHANGED", key,
      "The server was restarted or the session expired since the client last used it; make a new session.");
}

std::shared_ptr<ClientSession> checkObserved(std::shared_ptr<ClientSession> session,
                                             const std::string& observedId) {
  if (!observedId.empty() && observedId != session->serverSideId()) throw changed(session->key());
  session->touch();
  return session;
}

}  // namespace

std::shared_ptr<ClientSession> SessionRegistry::getOrCreate(const SessionKey& key,
                                                            const std::string& observedId) {
  std::lock_guard lock(mutex_);
  throwIfClosed(key);
  if (const auto found = sessions_.find(key); found != sessions_.end())
    return checkObserved(found->second, observedId);
  if (!isUuid(key.sessionId)) throw handleError("FORMAT", key, "Session ids are UUIDs.");
  if (!observedId.empty()) throw changed(key);
  if (refusing_) throw handleError("SESSION_NOT_FOUND", key, "The server is shutting down.");
  if (sessions_.size() >= limits_.sessions) {
    throw Error("SERVER_LIMIT_EXCEEDED.SESSIONS",
                fmt::format("The server has {} sessions open, as many as it allows; stop one first.",
                            sessions_.size()));
  }
  auto session =
      std::make_shared<ClientSession>(key, factory_->makeSession(key.userId, key.sessionId), limits_);
  sessions_.emplace(key, session);
  logInfo("session {} of user '{}' opened", key.sessionId, key.userId);
  return session;
}

std::shared_ptr<ClientSession> SessionRegistry::get(const SessionKey& key, const std::string& observedId) {
  std::lock_guard lock(mutex_);
  throwIfClosed(key);
  const auto found = sessions_.find(key);
  if (found == sessions_.end())
    throw handleError("SESSION_NOT_FOUND", key, "The server has no such session.");
  return checkObserved(found->second, observedId);
}

std::shared_ptr<ClientSession> SessionRegistry::find(const SessionKey& key) {
  std::lock_guard lock(mutex_);
  const auto found = sessions_.find(key);
  return found == sessions_.end() ? nullptr : found->second;
}

std::shared_ptr<ClientSession> SessionRegistry::release(const SessionKey& key, bool allowReconnect) {
  std::shared_ptr<ClientSession> session;
  {
    std::lock_guard lock(mutex_);
    auto node = sessions_.extract(key);
    if (node.empty()) return nullptr;
    session = std::move(node.mapped());
    if (!allowReconnect) remember(key);
  }
  session->close();
  logInfo("session {} closed", key.sessionId);
  return session;
}

void SessionRegistry::tick(std::chrono::steady_clock::time_point now) {
  for (const auto& session : all()) {
    session->tick(now);
    if (session->isIdleFor(now, limits_.sessionIdle)) release(session->key(), false);
  }
}

void SessionRegistry::refuseNew() {
  std::lock_guard lock(mutex_);
  refusing_ = true;
}

void SessionRegistry::closeAll() {
  for (const auto& session : all()) release(session->key(), true);
}

std::vector<std::shared_ptr<ClientSession>> SessionRegistry::all() {
  std::vector<std::shared_ptr<ClientSession>> sessions;
  std::lock_guard lock(mutex_);
  for (const auto& [key, session] : sessions_) sessions.push_back(session);
  return sessions;
}

void SessionRegistry::throwIfClosed(const SessionKey& key) const {
  if (closed_.count(key) != 0)
    throw handleError("SESSION_CLOSED", key, "The session was closed; make a new one.");
}

void SessionRegistry::remember(const SessionKey& key) {
  if (!closed_.insert(key).second) return;
  closedOrder_.push_back(key);
  if (closedOrder_.size() <= kClosedRemembered) return;
  closed_.erase(closedOrder_.front());
  closedOrder_.pop_front();
}

}  // namespace thalweg::connect
