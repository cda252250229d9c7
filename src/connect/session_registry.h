// All sessions of the server, each found by its owner alone.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "connect/client_session.h"
#include "connect/limits.h"
#include "connect/session_key.h"
#include "session/service.h"

namespace thalweg::connect {

// Any thread. `observedId` is the server-side id that the client has seen, empty if none: where it is not the
// session's, the session it knew is gone and INVALID_HANDLE.SESSION_CHANGED is thrown. Closed sessions throw
// .SESSION_CLOSED.
class SessionRegistry {
 public:
  SessionRegistry(std::shared_ptr<SessionFactory> factory, const Limits& limits)
      : factory_(std::move(factory)), limits_(limits) {}

  // Makes the session where there is none. Throws also INVALID_HANDLE.FORMAT and
  // SERVER_LIMIT_EXCEEDED.SESSIONS.
  std::shared_ptr<ClientSession> getOrCreate(const SessionKey& key, const std::string& observedId);
  // Throws also INVALID_HANDLE.SESSION_NOT_FOUND.
  std::shared_ptr<ClientSession> get(const SessionKey& key, const std::string& observedId);
  // Null where there is none.
  std::shared_ptr<ClientSession> find(const SessionKey& key);

  // Closes the session if there is one and returns it. Without `allowReconnect` its id cannot be used again.
  std::shared_ptr<ClientSession> release(const SessionKey& key, bool allowReconnect);

  // Ticks every session's operations and closes sessions that were idle for too long.
  void tick(std::chrono::steady_clock::time_point now);

  // Makes no sessions from here on.
  void refuseNew();
  void closeAll();

 private:
  std::vector<std::shared_ptr<ClientSession>> all();
  void throwIfClosed(const SessionKey& key) const;
  void remember(const SessionKey& key);

  const std::shared_ptr<SessionFactory> factory_;
  const Limits limits_;
  std::mutex mutex_;
  std::map<SessionKey, std::shared_ptr<ClientSession>> sessions_;
  std::set<SessionKey> closed_;
  std::deque<SessionKey> closedOrder_;
  bool refusing_ = false;
};

}  // namespace thalweg::connect
