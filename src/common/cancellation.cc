#include "common/cancellation.h"

#include "common/error.h"

namespace thalweg {

void CancellationToken::cancel() {
  std::map<int, std::function<void()>> callbacks;
  {
    std::lock_guard lock(state_->mutex);
    if (state_->cancelled) return;
    state_->cancelled = true;
    callbacks.swap(state_->callbacks);
  }
  state_->changed.notify_all();
  for (auto& [id, callback] : callbacks) callback();
}

bool CancellationToken::isCancelled() const {
  std::lock_guard lock(state_->mutex);
  return state_->cancelled;
}

void CancellationToken::throwIfCancelled() const {
  if (isCancelled()) throw Error("OPERATION_CANCELED", "The operation was cancelled.");
}

bool CancellationToken::waitFor(std::chrono::milliseconds duration) const {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, duration, [&] { return state_->cancelled; });
}

CancellationToken::Registration CancellationToken::onCancel(std::function<void()> callback) {
  int id;
  {
    std::lock_guard lock(state_->mutex);
    if (!state_->cancelled) {
      id = state_->nextId++;
      state_->callbacks.emplace(id, std::move(callback));
      auto state = state_;
      return Registration(nullptr, [state, id](void*) {
        std::lock_guard inner(state->mutex);
        state->callbacks.erase(id);
      });
    }
  }
  callback();
  return nullptr;
}

}  // namespace thalweg
