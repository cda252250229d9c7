#include "common/task_pool.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "common/error.h"
#include "common/logging.h"

namespace thalweg {
namespace {

// Threads beyond the slots, for tasks that block.
constexpr int kMaxBlockedThreads = 256;
// What a background job waits for at most while queries have tasks all the time.
constexpr std::chrono::seconds kLongestJobWait{1};

// One runAll. All fields are guarded by the pool's mutex.
struct Group {
  int next = 0;  // the first task not begun
  int count = 0;
  int running = 0;
  int maxRunning = 0;
  const std::function<void(int)>* task = nullptr;
  std::exception_ptr error;
  std::condition_variable done;

  bool canBegin() const { return next < count && running < maxRunning; }
  bool isDone() const { return next >= count && running == 0; }
};

}  // namespace

struct TaskPool::State : std::enable_shared_from_this<State> {
  explicit State(int slots) : numSlots(slots) {}

  const int numSlots;
  std::mutex mutex;
  std::condition_variable workAvailable;  // idle threads of the pool
  std::condition_variable slotFree;       // threads that want a slot back
  std::deque<std::shared_ptr<Group>> groups;  // those with tasks left, whose turn is next first
  struct Job {
    std::function<void()> work;
    std::chrono::steady_clock::time_point since;
  };
  std::deque<Job> jobs;
  std::vector<std::thread> threads;
  int slotsTaken = 0;
  int waitingForSlot = 0;
  int idleThreads = 0;
  bool stopping = false;

  bool hasFreeSlot() const { return slotsTaken + waitingForSlot < numSlots; }
  bool hasWork() const {
    return !jobs.empty() || std::any_of(groups.begin(), groups.end(), [](const auto& group) { return group->canBegin(); });
  }

  // Wakes, or makes, a thread for a task that may begin. The mutex is held.
  void wakeOne() {
    if (waitingForSlot > 0 && slotsTaken < numSlots) slotFree.notify_one();
    if (!hasFreeSlot() || !hasWork()) return;
    if (idleThreads > 0) {
      workAvailable.notify_one();
    } else if (!stopping && static_cast<int>(threads.size()) < numSlots + kMaxBlockedThreads) {
      addThread();
    }
  }

  void addThread() {
    try {
      threads.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // Out of threads: those that there are come back for the work, and callers run their own.
      logWarn("No more threads can be made; {} run.", threads.size());
    }
  }

  void takeSlot() {
    ++slotsTaken;
    slotHolder() = this;
  }

  void giveSlot() {
    --slotsTaken;
    slotHolder() = nullptr;
    wakeOne();
  }

  void awaitSlot(std::unique_lock<std::mutex>& lock) {
    ++waitingForSlot;
    slotFree.wait(lock, [&] { return slotsTaken < numSlots; });
    --waitingForSlot;
    takeSlot();
    wakeOne();
  }

  // The pool whose slot this thread holds.
  static State*& slotHolder() {
    thread_local State* holder = nullptr;
    return holder;
  }

  void work();
  void runTask(const std::shared_ptr<Group>& group, std::unique_lock<std::mutex>& lock);
  void runJob(std::unique_lock<std::mutex>& lock);
  std::shared_ptr<Group> nextGroup();
};

// The group whose turn it is goes to the end of the line.
std::shared_ptr<Group> TaskPool::State::nextGroup() {
  const auto it = std::find_if(groups.begin(), groups.end(), [](const auto& group) { return group->canBegin(); });
  if (it == groups.end()) return nullptr;
  auto group = *it;
  groups.erase(it);
  groups.push_back(group);
  return group;
}

// Runs the group's next task without the lock; the thread holds a slot.
void TaskPool::State::runTask(const std::shared_ptr<Group>& group, std::unique_lock<std::mutex>& lock) {
  const int index = group->next++;
  ++group->running;
  if (group->next == group->count) std::erase(groups, group);
  wakeOne();
  lock.unlock();
  std::exception_ptr error;
  try {
    (*group->task)(index);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  --group->running;
  if (error) {
    if (!group->error) group->error = error;
    group->next = group->count;
    std::erase(groups, group);
  }
  if (group->isDone()) group->done.notify_all();
}

void TaskPool::State::runJob(std::unique_lock<std::mutex>& lock) {
  auto job = std::move(jobs.front().work);
  jobs.pop_front();
  wakeOne();
  lock.unlock();
  try {
    job();
  } catch (...) {
    logError("a background job failed: {}", currentExceptionAsError().message());
  }
  job = nullptr;  // what it holds may take locks of its own when it dies
  lock.lock();
}

void TaskPool::State::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    ++idleThreads;
    workAvailable.wait(lock, [&] { return (hasFreeSlot() && hasWork()) || (stopping && jobs.empty()); });
    --idleThreads;
    if (!hasWork()) {
      // Those that slept while the last job ran end too.
      workAvailable.notify_all();
      return;
    }
    takeSlot();
    // Queries' tasks come before background jobs, but not for ever.
    const bool jobIsDue = !jobs.empty() && std::chrono::steady_clock::now() - jobs.front().since > kLongestJobWait;
    auto group = jobIsDue ? nullptr : nextGroup();
    if (group) runTask(group, lock);
    else runJob(lock);
    group.reset();
    giveSlot();
  }
}

TaskPool::TaskPool(int numSlots) : state_(std::make_shared<State>(std::max(numSlots, 1))) {}

TaskPool::~TaskPool() {
  std::vector<std::thread> threads;
  {
    std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    threads.swap(state_->threads);
  }
  state_->workAvailable.notify_all();
  for (std::thread& thread : threads) thread.join();
}

int TaskPool::numSlots() const { return state_->numSlots; }

void TaskPool::submit(std::function<void()> job) {
  std::lock_guard lock(state_->mutex);
  state_->jobs.push_back({std::move(job), std::chrono::steady_clock::now()});
  state_->wakeOne();
}

void TaskPool::runAll(int count, const std::function<void(int)>& task) {
  if (count <= 0) return;
  State& pool = *state_;
  auto group = std::make_shared<Group>();
  group->count = count;
  group->maxRunning = kInFlightPerSlot * pool.numSlots;
  group->task = &task;
  std::unique_lock lock(pool.mutex);
  pool.groups.push_back(group);
  const bool nested = State::slotHolder() == &pool;
  THALWEG_ASSERT(nested || State::slotHolder() == nullptr);
  if (!nested && (pool.hasFreeSlot() || pool.threads.empty())) {
    // A free slot is the caller's own, without the hand-over to another thread, until somebody else's turn has come.
    pool.takeSlot();
    while (group->canBegin()) {
      pool.runTask(group, lock);
      if (pool.groups.size() > 1 && !pool.threads.empty()) break;
    }
    pool.giveSlot();
  }
  // A task that waits for tasks of its own runs them itself, so that it cannot wait for a slot that it holds.
  while (nested && group->canBegin()) pool.runTask(group, lock);
  if (nested) pool.giveSlot();
  group->done.wait(lock, [&] { return group->isDone(); });
  if (nested) pool.awaitSlot(lock);
  lock.unlock();
  if (group->error) std::rethrow_exception(group->error);
}

BlockingSection::BlockingSection() {
  TaskPool::State* holder = TaskPool::State::slotHolder();
  if (!holder) return;
  pool_ = holder->shared_from_this();
  std::lock_guard lock(pool_->mutex);
  pool_->giveSlot();
}

BlockingSection::~BlockingSection() {
  if (!pool_) return;
  std::unique_lock lock(pool_->mutex);
  pool_->awaitSlot(lock);
}

}  // namespace thalweg
