// Threads for plans: they grow on demand up to a limit and have stacks for deep recursion.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

namespace thalweg::connect {

// Any thread may post. Tasks must not throw. Beyond the limit tasks wait their turn, first come first served.
class WorkerPool {
 public:
  // Analysis and printing recurse once or more per level of a plan: 1024 levels at up to 16 KB each. Only
  // touched pages count.
  static constexpr size_t kStackBytes = size_t{16} << 20;

  explicit WorkerPool(size_t maxThreads) : maxThreads_(maxThreads) {}
  ~WorkerPool() { shutDown(); }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // False, and the task is dropped, once shut down.
  bool post(std::function<void()> task);
  // Takes no more tasks, runs those that wait, returns when all threads have ended.
  void shutDown();

 private:
  static void* threadMain(void* pool);
  void startThread();
  void work();

  const size_t maxThreads_;
  std::mutex mutex_;
  std::condition_variable taskArrived_;
  std::condition_variable threadEnded_;
  std::deque<std::function<void()>> tasks_;
  size_t threads_ = 0;
  size_t idle_ = 0;
  bool stopping_ = false;
};

}  // namespace thalweg::connect
