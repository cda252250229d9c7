#include "streaming/query/streaming_query.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "common/logging.h"
#include "common/secret.h"
#include "common/uuid.h"
#include "streaming/batch/micro_batch.h"

namespace thalweg {
namespace {

using std::chrono::milliseconds;
// Between the starts of two batches of the default trigger while there is always data: enough to keep a table's versions
// and files countable, short enough to be felt as at once.
constexpr milliseconds kDefaultPace{25};
// Waits are cut to this: longer ones overflow the clock's arithmetic.
constexpr int64_t kLongestWaitMs = int64_t{1000} * 3600 * 24 * 365;
// A waiting caller notices its own cancellation this often.
constexpr milliseconds kWaitSlice{100};

}  // namespace

struct StreamingQuery::State {
  explicit State(StreamingQueryDefinition d) : definition(std::move(d)), checkpoint(definition.checkpoint), runId(randomUuid()) {}

  StreamingQueryDefinition definition;
  Checkpoint checkpoint;
  std::string runId;
  int64_t startedAtMs = 0;
  CancellationToken cancellation;
  std::thread thread;
  std::mutex joinMutex;

  mutable std::mutex mutex;
  std::condition_variable changed;
  bool active = true;
  QueryStatus status;
  std::optional<Error> failure;
  std::deque<std::string> progress;
  // Counts triggers that found nothing new: processAllAvailable waits for one that began after its call.
  int64_t triggersBegun = 0;
  int64_t lastIdleTrigger = 0;
  std::map<int64_t, std::function<void()>> terminationCallbacks;
  int64_t nextCallback = 0;
  std::unique_ptr<MicroBatchExecution> execution;
  std::string explainText, extendedExplainText;
  std::optional<int64_t> previousTriggerMs;

  void run();
  void runTriggers();
  BatchOutcome runOnce(bool ignoreLimits);
  void runUntilNothingIsLeft(bool ignoreLimits);
  void setMessage(const std::string& message) {
    std::lock_guard lock(mutex);
    status.message = maskSecrets(message);
  }
  void finish(std::optional<Error> error);
};

BatchOutcome StreamingQuery::State::runOnce(bool ignoreLimits) {
  int64_t trigger;
  {
    std::lock_guard lock(mutex);
    trigger = ++triggersBegun;
    status.isTriggerActive = true;
  }
  QueryProgress report;
  const int64_t nowMs = definition.clock->nowMillis();
  if (previousTriggerMs) report.inputSeconds = static_cast<double>(std::max<int64_t>(nowMs - *previousTriggerMs, 1)) / 1000.0;
  const BatchOutcome outcome = execution->runNext(ignoreLimits, &report);
  std::lock_guard lock(mutex);
  status.isTriggerActive = false;
  status.isDataAvailable = outcome == BatchOutcome::Ran;
  previousTriggerMs = nowMs;
  if (outcome == BatchOutcome::Ran) {
    progress.push_back(report.toJson());
    while (!progress.empty() && static_cast<int>(progress.size()) > definition.numRecentProgress) progress.pop_front();
  } else {
    lastIdleTrigger = trigger;
    status.message = "Waiting for data to arrive";
  }
  changed.notify_all();
  return outcome;
}

void StreamingQuery::State::runUntilNothingIsLeft(bool ignoreLimits) {
  while (!cancellation.isCancelled() && runOnce(ignoreLimits) == BatchOutcome::Ran) {
  }
}

void StreamingQuery::State::runTriggers() {
  const Trigger& trigger = definition.trigger;
  if (trigger.kind == Trigger::Kind::Once) {
    runOnce(/*ignoreLimits=*/true);
    return;
  }
  if (trigger.kind == Trigger::Kind::AvailableNow) {
    // Sources that cannot stop where they are now give one batch of all that they have.
    if (execution->prepareForAvailableNow()) {
      runUntilNothingIsLeft(false);
      return;
    }
    // A batch that a crash left open comes first, over its own range: what arrived since is a batch of its own.
    const bool replays = execution->isReplaying();
    runOnce(true);
    if (replays && !cancellation.isCancelled()) runOnce(true);
    return;
  }
  while (!cancellation.isCancelled()) {
    const auto started = definition.clock->monotonic();
    const int64_t startedMs = definition.clock->nowMillis();
    const BatchOutcome outcome = runOnce(false);
    if (trigger.kind == Trigger::Kind::ProcessingTime) {
      // Boundaries are multiples of the interval since the epoch; a batch that overran is followed at once.
      const int64_t boundary = (startedMs / trigger.intervalMs + 1) * trigger.intervalMs;
      const int64_t wait = std::min(boundary - definition.clock->nowMillis(), kLongestWaitMs);
      if (wait > 0) {
        setMessage("Waiting for next trigger");
        cancellation.waitFor(milliseconds(wait));
      }
    } else if (outcome == BatchOutcome::NoData) {
      cancellation.waitFor(milliseconds(definition.pollingDelayMs));
    } else {
      const auto elapsed = std::chrono::duration_cast<milliseconds>(definition.clock->monotonic() - started);
      if (elapsed < kDefaultPace) cancellation.waitFor(kDefaultPace - elapsed);
    }
  }
}

void StreamingQuery::State::run() {
  std::optional<Error> error;
  try {
    execution->initialize();
    {
      std::lock_guard lock(mutex);
      explainText = execution->explain(false);
      extendedExplainText = execution->explain(true);
    }
    runTriggers();
  } catch (...) {
    error = currentExceptionAsError();
    // A stopped query ends its batch with a cancellation: that is no failure.
    if (cancellation.isCancelled()) error.reset();
  }
  finish(std::move(error));
}

void StreamingQuery::State::finish(std::optional<Error> error) {
  std::map<int64_t, std::function<void()>> callbacks;
  execution.reset();
  if (!error && definition.deleteCheckpointOnStop) {
    try {
      definition.checkpoint.fileSystem->removeTree(definition.checkpoint.path);
    } catch (const Error& failed) {
      logWarn("query {}: its temporary checkpoint could not be removed: {}", checkpoint.queryId(), failed.message());
    }
  }
  {
    std::lock_guard lock(mutex);
    active = false;
    status.isTriggerActive = false;
    status.isDataAvailable = false;
    if (error) {
      logError("query {} (run {}) failed: {}", checkpoint.queryId(), runId, error->message());
      const std::string text = maskSecrets(error->message());
      status.message = "Terminated with exception: " + text;
      failure = Error("STREAM_FAILED",
                      "Query [id = " + checkpoint.queryId() + ", runId = " + runId + "] terminated with exception: " + text,
                      {{"id", checkpoint.queryId()}, {"runId", runId}, {"message", text}})
                    .withCause(*error);
    } else {
      status.message = "Stopped";
    }
    callbacks.swap(terminationCallbacks);
  }
  changed.notify_all();
  for (auto& [id, callback] : callbacks) {
    try {
      callback();
    } catch (...) {
      logError("query {}: a termination callback failed: {}", checkpoint.queryId(), currentExceptionAsError().message());
    }
  }
}

StreamingQuery::StreamingQuery(std::shared_ptr<State> state) : state_(std::move(state)) {}

std::shared_ptr<StreamingQuery> StreamingQuery::start(StreamingQueryDefinition definition) {
  auto state = std::make_shared<State>(std::move(definition));
  state->startedAtMs = state->definition.clock->nowMillis();
  State* raw = state.get();
  state->execution = std::make_unique<MicroBatchExecution>(state->definition, state->checkpoint, state->runId, state->cancellation,
                                                           [raw](const std::string& message) { raw->setMessage(message); });
  std::shared_ptr<StreamingQuery> query(new StreamingQuery(state));
  state->thread = std::thread([state] { state->run(); });
  return query;
}

StreamingQuery::~StreamingQuery() { stop(); }

const std::string& StreamingQuery::id() const { return state_->checkpoint.queryId(); }
const std::string& StreamingQuery::runId() const { return state_->runId; }
const std::optional<std::string>& StreamingQuery::name() const { return state_->definition.name; }
const std::string& StreamingQuery::checkpointPath() const { return state_->definition.checkpoint.path; }
int64_t StreamingQuery::startedAtMs() const { return state_->startedAtMs; }

bool StreamingQuery::isActive() const {
  std::lock_guard lock(state_->mutex);
  return state_->active;
}

QueryStatus StreamingQuery::status() const {
  std::lock_guard lock(state_->mutex);
  return state_->status;
}

std::optional<Error> StreamingQuery::exception() const {
  std::lock_guard lock(state_->mutex);
  return state_->failure;
}

std::vector<std::string> StreamingQuery::recentProgress() const {
  std::lock_guard lock(state_->mutex);
  return {state_->progress.begin(), state_->progress.end()};
}

std::optional<std::string> StreamingQuery::lastProgress() const {
  std::lock_guard lock(state_->mutex);
  return state_->progress.empty() ? std::nullopt : std::optional(state_->progress.back());
}

std::string StreamingQuery::explain(bool extended) const {
  std::lock_guard lock(state_->mutex);
  if (state_->explainText.empty()) return "No physical plan. Waiting for data.";
  return extended ? state_->extendedExplainText : state_->explainText;
}

void StreamingQuery::stop() {
  state_->cancellation.cancel();
  std::lock_guard lock(state_->joinMutex);
  if (!state_->thread.joinable()) return;
  // The last handle may die on the query's own thread (a termination callback).
  if (state_->thread.get_id() == std::this_thread::get_id()) state_->thread.detach();
  else state_->thread.join();
}

void StreamingQuery::processAllAvailable(const CancellationToken& cancellation) {
  std::unique_lock lock(state_->mutex);
  const int64_t begunBefore = state_->triggersBegun;
  for (;;) {
    if (state_->failure) throw *state_->failure;
    // A trigger that began after the call and found nothing has seen all that was there.
    if (!state_->active || state_->lastIdleTrigger > begunBefore) return;
    state_->changed.wait_for(lock, kWaitSlice);
    lock.unlock();
    cancellation.throwIfCancelled();
    lock.lock();
  }
}

StreamingQuery::Registration StreamingQuery::onTermination(std::function<void()> callback) {
  {
    std::lock_guard lock(state_->mutex);
    if (state_->active) {
      const int64_t id = state_->nextCallback++;
      state_->terminationCallbacks.emplace(id, std::move(callback));
      return Registration(nullptr, [weak = std::weak_ptr(state_), id](void*) {
        const auto state = weak.lock();
        if (!state) return;
        std::function<void()> dropped;  // destroyed after the lock: it may hold the last handle of something
        std::lock_guard inner(state->mutex);
        if (auto it = state->terminationCallbacks.find(id); it != state->terminationCallbacks.end()) {
          dropped = std::move(it->second);
          state->terminationCallbacks.erase(it);
        }
      });
    }
  }
  callback();
  return nullptr;
}

bool StreamingQuery::awaitTermination(std::optional<milliseconds> timeout) {
  std::unique_lock lock(state_->mutex);
  const auto ended = [&] { return !state_->active; };
  if (timeout) state_->changed.wait_for(lock, *timeout, ended);
  else state_->changed.wait(lock, ended);
  if (state_->failure) throw *state_->failure;
  return !state_->active;
}

}  // namespace thalweg
