#include "connect/worker_pool.h"

#include <pthread.h>

#include <chrono>

#include "common/error.h"

namespace thalweg::connect {
namespace {

constexpr std::chrono::seconds kIdleThreadLives{30};

}  // namespace

bool WorkerPool::post(std::function<void()> task) {
  std::lock_guard lock(mutex_);
  if (stopping_) return false;
  tasks_.push_back(std::move(task));
  if (idle_ < tasks_.size() && threads_ < maxThreads_) startThread();
  taskArrived_.notify_one();
  return true;
}

void WorkerPool::startThread() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  const int failed = pthread_create(&thread, &attributes, &WorkerPool::threadMain, this);
  pthread_attr_destroy(&attributes);
  if (failed == 0) {
    ++threads_;
  } else if (threads_ == 0) {
    tasks_.pop_back();
    throw Error("OUT_OF_MEMORY", "The server could not start a thread for this operation.");
  }
}

void* WorkerPool::threadMain(void* pool) {
  static_cast<WorkerPool*>(pool)->work();
  return nullptr;
}

void WorkerPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    const bool awake =
        taskArrived_.wait_for(lock, kIdleThreadLives, [this] { return stopping_ || !tasks_.empty(); });
    --idle_;
    if (tasks_.empty()) {
      if (stopping_ || !awake) break;
      continue;
    }
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
  --threads_;
  // Under the lock: the pool may be gone as soon as it is released.
  threadEnded_.notify_all();
}

void WorkerPool::shutDown() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  taskArrived_.notify_all();
  threadEnded_.wait(lock, [this] { return threads_ == 0; });
}

}  // namespace thalweg::connect
