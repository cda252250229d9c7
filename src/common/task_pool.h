// The CPU's threads, shared by all queries of a process.
#pragma once

#include <functional>
#include <memory>

namespace thalweg {

// Runs at most as many tasks at once as it has slots (cores), taken in turn from the calls that wait: a call with many
// tasks does not hold up one with few. A task that waits inside a BlockingSection gives its slot to another meanwhile.
// Any thread may call; a task of one pool must not call another.
class TaskPool {
 public:
  // `numSlots` tasks compute at once; threads are made as they are needed.
  explicit TaskPool(int numSlots);
  // Runs the jobs that are left, then ends the threads. No runAll may be under way.
  ~TaskPool();
  TaskPool(const TaskPool&) = delete;
  TaskPool& operator=(const TaskPool&) = delete;

  int numSlots() const;

  // Runs task(0) … task(count − 1), begun in this order, and waits for all. A task may itself call this. At most
  // kInFlightPerSlot tasks a slot are under way, those that block included. The first exception is rethrown here once the
  // running tasks have ended; tasks not begun by then are left out.
  void runAll(int count, const std::function<void(int)>& task);
  static constexpr int kInFlightPerSlot = 2;

  // Runs a job when no task waits for a slot, or after a second of waiting; after the jobs before it. Exceptions are logged and dropped.
  void submit(std::function<void()> job);

  struct State;

 private:
  std::shared_ptr<State> state_;
};

// While it lives, the thread waits for a socket, a disk or another thread and needs no core. On a thread of a TaskPool the
// pool runs another task meanwhile, and the end of the section waits for a slot: a lock that other tasks take must not be held
// by then. On any other thread it does nothing.
class BlockingSection {
 public:
  BlockingSection();
  ~BlockingSection();
  BlockingSection(const BlockingSection&) = delete;
  BlockingSection& operator=(const BlockingSection&) = delete;

 private:
  std::shared_ptr<TaskPool::State> pool_;  // null: the thread holds no slot
};

}  // namespace thalweg
