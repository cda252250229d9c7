#include "session/timer.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "common/error.h"
#include "common/logging.h"

namespace thalweg {
namespace {

class Timer {
 public:
  Timer() : thread_([this] { run(); }) {}
  ~Timer() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void add(std::chrono::steady_clock::time_point due, std::function<void()> job) {
    {
      std::lock_guard lock(mutex_);
      jobs_.emplace(due, std::move(job));
    }
    changed_.notify_all();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      if (jobs_.empty()) {
        changed_.wait(lock);
      } else if (const auto due = jobs_.begin()->first; std::chrono::steady_clock::now() < due) {
        changed_.wait_until(lock, due);
      } else {
        auto job = std::move(jobs_.begin()->second);
        jobs_.erase(jobs_.begin());
        lock.unlock();
        try {
          job();
        } catch (...) {
          logError("a timed job failed: {}", currentExceptionAsError().message());
        }
        job = nullptr;
        lock.lock();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<std::chrono::steady_clock::time_point, std::function<void()>> jobs_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace

void runAfter(std::chrono::milliseconds delay, std::function<void()> job) {
  // Longer delays overflow the clock's arithmetic; nobody waits for them.
  constexpr std::chrono::hours kLongest{24 * 365};
  static Timer timer;
  timer.add(std::chrono::steady_clock::now() + std::min<std::chrono::milliseconds>(delay, kLongest), std::move(job));
}

}  // namespace thalweg
