// One client's session as the service sees it: its operations, its artifacts' size, when it was last used.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "connect/limits.h"
#include "connect/operation.h"
#include "connect/session_key.h"
#include "session/service.h"

namespace thalweg::connect {

// All methods may be called from any thread.
class ClientSession {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  ClientSession(SessionKey key, std::shared_ptr<SessionService> service, const Limits& limits);

  const SessionKey& key() const { return key_; }
  // Constant for the session's life; another value tells a client that its session is gone.
  const std::string& serverSideId() const { return serverSideId_; }
  SessionService& service() const { return *service_; }

  // A new operation. Throws INVALID_HANDLE.FORMAT, .OPERATION_ALREADY_EXISTS, .OPERATION_ABANDONED,
  // .SESSION_CLOSED and SERVER_LIMIT_EXCEEDED.OPERATIONS. `options.retryBufferBytes` and its interval are
  // filled here.
  std::shared_ptr<Operation> addOperation(const std::string& operationId, OperationOptions options);
  // Null where there is none.
  std::shared_ptr<Operation> findOperation(const std::string& operationId) const;
  // Throws INVALID_HANDLE.OPERATION_NOT_FOUND, or .OPERATION_ABANDONED for one that was dropped.
  std::shared_ptr<Operation> operation(const std::string& operationId) const;
  std::vector<std::shared_ptr<Operation>> operations() const;
  // Forgets it; one still running is cancelled.
  void removeOperation(const std::string& operationId);

  // Counts an artifact against the session's bound; throws SERVER_LIMIT_EXCEEDED.ARTIFACTS.
  void reserveArtifactBytes(size_t bytes);

  void touch() { lastUsed_ = std::chrono::steady_clock::now(); }
  // Nothing runs in it and nobody has used it for so long.
  bool isIdleFor(TimePoint now, std::chrono::milliseconds duration) const;

  // Ticks operations; drops those that nobody has read for too long.
  void tick(TimePoint now);

  // Cancels the operations and closes the service; safe to call twice.
  void close();

 private:
  std::shared_ptr<Operation> takeOperation(const std::string& operationId, bool abandoned);

  const SessionKey key_;
  const std::string serverSideId_;
  const std::shared_ptr<SessionService> service_;
  const Limits limits_;
  std::atomic<TimePoint> lastUsed_;
  std::atomic<size_t> artifactBytes_{0};

  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Operation>> operations_;
  std::deque<std::string> abandoned_;
  bool closed_ = false;
};

}  // namespace thalweg::connect
