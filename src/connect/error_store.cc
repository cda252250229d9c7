#include "connect/error_store.h"

#include "common/uuid.h"

namespace thalweg::connect {

std::string ErrorStore::keep(const SessionKey& owner, const Error& error) {
  std::string id = randomUuid();
  std::lock_guard lock(mutex_);
  errors_.emplace(id, Kept{owner, error});
  order_.push_back(id);
  if (order_.size() > kCapacity) {
    errors_.erase(order_.front());
    order_.pop_front();
  }
  return id;
}

std::optional<Error> ErrorStore::take(const SessionKey& owner, const std::string& errorId) {
  std::lock_guard lock(mutex_);
  const auto found = errors_.find(errorId);
  if (found == errors_.end() || found->second.owner != owner) return std::nullopt;
  std::optional<Error> error(std::move(found->second.error));
  errors_.erase(found);
  return error;
}

}  // namespace thalweg::connect
