#include "common/task_pool.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "common/error.h"
#include "common/logging.h"

namespace thalweg {

struct TaskPool::State {
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> jobs;
  bool stopping = false;
  std::vector<std::thread> threads;

  void work() {
    for (;;) {
      std::function<void()> job;
      {
        std::unique_lock lock(mutex);
        wake.wait(lock, [&] { return stopping || !jobs.empty(); });
        if (jobs.empty()) return;
        job = std::move(jobs.front());
        jobs.pop_front();
      }
      try {
        job();
      } catch (...) {
        logError("a background job failed: {}", currentExceptionAsError().message());
      }
    }
  }
};

namespace {

// One runAll: tasks are taken by number from whichever thread is free.
struct Group {
  std::atomic<int> next{0};
  int count = 0;
  const std::function<void(int)>* task = nullptr;
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::condition_variable done;
  int running = 0;
  std::exception_ptr error;

  void takeTasks() {
    {
      std::lock_guard lock(mutex);
      if (next.load() >= count) return;
      ++running;
    }
    for (int index; !failed.load() && (index = next.fetch_add(1)) < count;) {
      try {
        (*task)(index);
      } catch (...) {
        std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        failed.store(true);
      }
    }
    std::lock_guard lock(mutex);
    if (failed.load()) next.store(count);
    --running;
    done.notify_all();
  }
};

}  // namespace

TaskPool::TaskPool(int numThreads) : state_(std::make_shared<State>()) {
  for (int i = 0; i < numThreads; ++i) {
    state_->threads.emplace_back([state = state_.get()] { state->work(); });
  }
}

TaskPool::~TaskPool() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->wake.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
}

int TaskPool::numThreads() const { return static_cast<int>(state_->threads.size()); }

void TaskPool::submit(std::function<void()> job) {
  {
    std::lock_guard lock(state_->mutex);
    state_->jobs.push_back(std::move(job));
  }
  state_->wake.notify_one();
}

void TaskPool::runAll(int count, const std::function<void(int)>& task) {
  if (count <= 0) return;
  auto group = std::make_shared<Group>();
  group->count = count;
  group->task = &task;
  // The caller is one of the workers; a helper that wakes up late finds nothing left and goes.
  for (int i = 1; i < std::min(count, numThreads()); ++i) submit([group] { group->takeTasks(); });
  group->takeTasks();
  std::unique_lock lock(group->mutex);
  group->done.wait(lock, [&] { return group->running == 0; });
  group->next.store(count);
  if (group->error) std::rethrow_exception(group->error);
}

}  // namespace thalweg
