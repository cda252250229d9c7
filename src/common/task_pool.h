// The CPU's threads, shared by all queries of a process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "common/cancellation.h"

namespace thalweg {

// A fixed number of worker threads. Any thread may call.
class TaskPool {
 public:
  explicit TaskPool(int numThreads);
  ~TaskPool();
  TaskPool(const TaskPool&) = delete;
  TaskPool& operator=(const TaskPool&) = delete;

  int numThreads() const;

  // Runs task(0) … task(count − 1), the caller's thread among the workers (so a task may itself call this), and waits for
  // all. The first exception is rethrown here once the running tasks have ended; tasks not begun by then are left out.
  void runAll(int count, const std::function<void(int)>& task);

  // Runs a job later, on a worker, after the jobs before it. Exceptions are logged and dropped.
  void submit(std::function<void()> job);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace thalweg
