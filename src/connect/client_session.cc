#include "connect/client_session.h"

#include <algorithm>

#include <fmt/format.h>

#include "common/logging.h"
#include "common/uuid.h"
#include "connect/settings.h"

namespace thalweg::connect {
namespace {

constexpr size_t kAbandonedRemembered = 1000;

Error handleError(const std::string& condition, const std::string& handle, const std::string& text) {
  return Error("INVALID_HANDLE." + condition, "The handle " + handle + " is invalid. " + text,
               {{"handle", handle}});
}

}  // namespace

ClientSession::ClientSession(SessionKey key, std::shared_ptr<SessionService> service, const Limits& limits)
    : key_(std::move(key)),
      serverSideId_(randomUuid()),
      service_(std::move(service)),
      limits_(limits),
      lastUsed_(std::chrono::steady_clock::now()) {}

std::shared_ptr<Operation> ClientSession::addOperation(const std::string& operationId,
                                                       OperationOptions options) {
  if (!isUuid(operationId)) throw handleError("FORMAT", operationId, "Operation ids are UUIDs.");
  options.retryBufferBytes = limits_.retryBufferBytes;
  options.progressInterval =
      durationSetting(*service_, "spark.connect.progress.reportInterval", limits_.progressInterval);
  std::lock_guard lock(mutex_);
  if (closed_) throw handleError("SESSION_CLOSED", key_.sessionId, "The session was closed.");
  if (operations_.count(operationId) != 0) {
    throw handleError("OPERATION_ALREADY_EXISTS", operationId, "An operation with this id runs already.");
  }
  if (std::find(abandoned_.begin(), abandoned_.end(), operationId) != abandoned_.end()) {
    throw handleError("OPERATION_ABANDONED", operationId,
                      "Nobody read the operation's results, and it was dropped.");
  }
  if (operations_.size() >= limits_.operationsPerSession) {
    throw Error(
        "SERVER_LIMIT_EXCEEDED.OPERATIONS",
        fmt::format("The session has {} operations open, as many as the server allows; stop some first.",
                    operations_.size()));
  }
  auto operation = std::make_shared<Operation>(OperationIdentity{key_.sessionId, serverSideId_, operationId},
                                               std::move(options));
  operations_.emplace(operationId, operation);
  return operation;
}

std::shared_ptr<Operation> ClientSession::findOperation(const std::string& operationId) const {
  std::lock_guard lock(mutex_);
  const auto found = operations_.find(operationId);
  return found == operations_.end() ? nullptr : found->second;
}

std::shared_ptr<Operation> ClientSession::operation(const std::string& operationId) const {
  if (auto found = findOperation(operationId)) return found;
  std::lock_guard lock(mutex_);
  if (std::find(abandoned_.begin(), abandoned_.end(), operationId) != abandoned_.end()) {
    throw handleError("OPERATION_ABANDONED", operationId,
                      "Nobody read the operation's results, and it was dropped.");
  }
  throw handleError("OPERATION_NOT_FOUND", operationId, "The session has no such operation.");
}

std::vector<std::shared_ptr<Operation>> ClientSession::operations() const {
  std::vector<std::shared_ptr<Operation>> all;
  std::lock_guard lock(mutex_);
  for (const auto& [id, operation] : operations_) all.push_back(operation);
  return all;
}

std::shared_ptr<Operation> ClientSession::takeOperation(const std::string& operationId, bool abandoned) {
  std::lock_guard lock(mutex_);
  auto node = operations_.extract(operationId);
  if (node.empty()) return nullptr;
  if (abandoned) {
    abandoned_.push_back(operationId);
    if (abandoned_.size() > kAbandonedRemembered) abandoned_.pop_front();
  }
  return std::move(node.mapped());
}

void ClientSession::removeOperation(const std::string& operationId) {
  if (const auto operation = takeOperation(operationId, false))
    operation->cancel("The client released the operation.");
}

void ClientSession::reserveArtifactBytes(size_t bytes) {
  const size_t before = artifactBytes_.fetch_add(bytes);
  if (before + bytes <= limits_.artifactBytesPerSession) return;
  artifactBytes_ -= bytes;
  throw Error("SERVER_LIMIT_EXCEEDED.ARTIFACTS",
              fmt::format("The session's uploads exceed {} bytes; put data into a file or a table instead.",
                          limits_.artifactBytesPerSession));
}

bool ClientSession::isIdleFor(TimePoint now, std::chrono::milliseconds duration) const {
  {
    std::lock_guard lock(mutex_);
    if (!operations_.empty()) return false;
  }
  return now - lastUsed_.load() > duration && !service_->hasRunningQueries();
}

void ClientSession::tick(TimePoint now) {
  for (const auto& operation : operations()) {
    operation->tick(now);
    if (operation->detachedFor(now) <= limits_.operationDetached) continue;
    takeOperation(operation->id(), true);
    operation->cancel("Nobody read the operation's results for too long.");
    logWarn("operation {} of session {} dropped: nobody read it", operation->id(), key_.sessionId);
  }
  if (!operations().empty()) touch();
}

void ClientSession::close() {
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return;
  }
  for (const auto& operation : operations()) operation->cancel("The session was closed.");
  try {
    service_->close();
  } catch (...) {
    logError("session {} did not close cleanly: {}", key_.sessionId, currentExceptionAsError().message());
  }
}

}  // namespace thalweg::connect
