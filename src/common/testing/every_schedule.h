// For tests: several actors, one at a time, through every order of their steps.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace thalweg {

// One order. Actors are functions that call step() where another may go first; between two steps an actor has
// the process for itself, so that what actors share needs no lock.
class Schedule {
 public:
  explicit Schedule(std::vector<int> choices) : choices_(std::move(choices)) {}

  // Runs all actors to their ends, each in a thread of its own; the first exception of one is rethrown then.
  void run(const std::vector<std::function<void()>>& actors) {
    for (size_t i = 0; i < actors.size(); ++i) actors_.push_back(std::make_unique<Actor>());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < actors.size(); ++i) {
      threads.emplace_back([this, i, body = actors[i]] {
        Actor& actor = *actors_[i];
        actor.turn.acquire();
        try {
          body();
        } catch (...) {
          if (!failure_) failure_ = std::current_exception();
        }
        actor.ended = true;
        back_.release();
      });
    }
    while (Actor* next = choose()) {
      next->turn.release();
      back_.acquire();
    }
    for (std::thread& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
  }

  // Called by the actor of this number (its place among run()'s): others may go first now.
  void step(size_t actor) {
    back_.release();
    actors_[actor]->turn.acquire();
  }

  // Which actor went at each step, for messages: "0 0 1 0".
  std::string text() const {
    std::string text;
    for (const size_t actor : order_) text += (text.empty() ? "" : " ") + std::to_string(actor);
    return text;
  }

  // The choices of the next order; empty after the last.
  std::vector<int> next() const {
    std::vector<int> choices;
    for (size_t last = decisions_.size(); last-- > 0;) {
      if (decisions_[last].taken + 1 >= decisions_[last].of) continue;
      for (size_t i = 0; i < last; ++i) choices.push_back(decisions_[i].taken);
      choices.push_back(decisions_[last].taken + 1);
      break;
    }
    return choices;
  }

 private:
  struct Actor {
    std::binary_semaphore turn{0};
    bool ended = false;
  };
  struct Decision {
    int taken;
    int of;
  };

  Actor* choose() {
    std::vector<size_t> able;
    for (size_t i = 0; i < actors_.size(); ++i) {
      if (!actors_[i]->ended) able.push_back(i);
    }
    if (able.empty()) return nullptr;
    int taken = 0;
    if (able.size() > 1) {
      if (decisions_.size() < choices_.size()) taken = choices_[decisions_.size()];
      decisions_.push_back({taken, static_cast<int>(able.size())});
    }
    order_.push_back(able[static_cast<size_t>(taken)]);
    return actors_[order_.back()].get();
  }

  std::vector<int> choices_;
  std::vector<Decision> decisions_;
  std::vector<size_t> order_;
  std::vector<std::unique_ptr<Actor>> actors_;
  std::binary_semaphore back_{0};
  std::exception_ptr failure_;
};

// Calls `run` with a schedule for every order of steps that its actors can take; false from it ends that.
// What actors do must follow from the order alone. The number of schedules.
template <typename Run>
int64_t forEachSchedule(Run&& run) {
  std::vector<int> choices;
  int64_t count = 0;
  while (true) {
    Schedule schedule(std::move(choices));
    ++count;
    if (!run(schedule)) return count;
    choices = schedule.next();
    if (choices.empty()) return count;
  }
}

}  // namespace thalweg
