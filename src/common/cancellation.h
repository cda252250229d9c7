// A flag that asks running work to end, seen per batch and in every wait.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace thalweg {

// Shared by whoever may cancel and whoever works; all methods may be called from any thread. Cancelling is final.
class CancellationToken {
 public:
  void cancel();
  bool isCancelled() const;
  // Throws Error OPERATION_CANCELED once cancelled.
  void throwIfCancelled() const;
  // Sleeps for the duration or until cancelled; true when cancelled.
  bool waitFor(std::chrono::milliseconds duration) const;

  // Runs `callback` once on cancellation (at once, on the caller's thread, if already cancelled; else on the thread that
  // cancels). The registration ends with the returned handle's life.
  using Registration = std::shared_ptr<void>;
  Registration onCancel(std::function<void()> callback);

 private:
  struct State {
    mutable std::mutex mutex;
    mutable std::condition_variable changed;
    bool cancelled = false;
    int nextId = 0;
    std::map<int, std::function<void()>> callbacks;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace thalweg
