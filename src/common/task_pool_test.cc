#include "common/task_pool.h"

#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <mutex>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace thalweg {
namespace {

// Long enough that only a task that never runs reaches it.
constexpr std::chrono::seconds kForever{60};

bool arrives(std::latch& latch) {
  const auto deadline = std::chrono::steady_clock::now() + kForever;
  while (!latch.try_wait()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(TaskPool, RunsEveryTaskOnce) {
  TaskPool pool(3);
  std::vector<std::atomic<int>> runs(1000);
  pool.runAll(1000, [&](int i) { ++runs[static_cast<size_t>(i)]; });
  for (const auto& count : runs) EXPECT_EQ(count, 1);
  pool.runAll(0, [](int) { FAIL() << "there is no task"; });
}

TEST(TaskPool, ComputesNoMoreTasksAtOnceThanItHasSlots) {
  TaskPool pool(2);
  std::atomic<int> computing{0}, most{0};
  const auto task = [&](int) {
    const int now = ++computing;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --computing;
  };
  auto other = std::async(std::launch::async, [&] { pool.runAll(20, task); });
  pool.runAll(20, task);
  other.get();
  EXPECT_EQ(most, 2);
}

TEST(TaskPool, ATaskThatBlocksGivesItsSlotToAnother) {
  TaskPool pool(1);
  std::latch second(1);
  pool.runAll(2, [&](int i) {
    if (i == 1) return second.count_down();
    const BlockingSection waiting;
    EXPECT_TRUE(arrives(second));
  });
}

TEST(TaskPool, BlockedTasksOfOneCallDoNotHoldUpAnother) {
  TaskPool pool(2);
  std::latch released(1);
  auto blocked = std::async(std::launch::async, [&] {
    pool.runAll(8, [&](int) {
      const BlockingSection waiting;
      EXPECT_TRUE(arrives(released));
    });
  });
  std::atomic<int> ran{0};
  pool.runAll(8, [&](int) { ++ran; });
  EXPECT_EQ(ran, 8);
  released.count_down();
  blocked.get();
}

TEST(TaskPool, ACallHasFewTasksUnderWayHoweverManyBlock) {
  TaskPool pool(1);
  std::atomic<int> underWay{0}, most{0};
  pool.runAll(10, [&](int) {
    const int now = ++underWay;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    {
      const BlockingSection waiting;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    --underWay;
  });
  EXPECT_EQ(most, TaskPool::kInFlightPerSlot);
}

TEST(TaskPool, CallsTakeTurns) {
  TaskPool pool(1);
  std::latch smallCallWaits(1);
  std::atomic<int> doneOfLarge{0};
  auto large = std::async(std::launch::async, [&] {
    pool.runAll(100, [&](int i) {
      if (i == 0) {
        EXPECT_TRUE(arrives(smallCallWaits));
      }
      // Long beside the time that the other thread needs to get from the latch into its call.
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ++doneOfLarge;
    });
  });
  smallCallWaits.count_down();
  pool.runAll(1, [](int) {});
  EXPECT_LT(doneOfLarge, 100);
  large.get();
  EXPECT_EQ(doneOfLarge, 100);
}

TEST(TaskPool, ATaskMayRunTasksOfItsOwn) {
  TaskPool pool(2);
  std::atomic<int> leaves{0};
  pool.runAll(4, [&](int) { pool.runAll(4, [&](int) { pool.runAll(4, [&](int) { ++leaves; }); }); });
  EXPECT_EQ(leaves, 64);
}

TEST(TaskPool, TheFirstFailureEndsTheCall) {
  TaskPool pool(2);
  std::atomic<int> begun{0};
  const auto run = [&] {
    pool.runAll(1000, [&](int i) {
      ++begun;
      if (i == 3) throw std::runtime_error("three");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  };
  EXPECT_THROW(run(), std::runtime_error);
  EXPECT_LT(begun, 1000);
  begun = 0;
  pool.runAll(2, [&](int) { ++begun; });
  EXPECT_EQ(begun, 2) << "the pool serves on";
}

TEST(TaskPool, JobsRunInTheirOrderAndBeforeThePoolEnds) {
  std::vector<int> order;
  {
    TaskPool pool(1);
    for (int i = 0; i < 5; ++i) pool.submit([&order, i] { order.push_back(i); });
    pool.submit([] { throw std::runtime_error("is logged, and ends nothing"); });
    pool.submit([&order] { order.push_back(5); });
  }
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5}));
}

TEST(TaskPool, ABackgroundJobIsNotHeldUpForEverByQueries) {
  TaskPool pool(1);
  std::latch ran(1);
  pool.runAll(1, [&](int) { pool.submit([&] { ran.count_down(); }); });
  std::atomic<bool> stop{false};
  // Always a task that waits.
  auto first = std::async(std::launch::async, [&] { while (!stop) pool.runAll(50, [](int) {}); });
  auto second = std::async(std::launch::async, [&] { while (!stop) pool.runAll(50, [](int) {}); });
  EXPECT_TRUE(arrives(ran));
  stop = true;
  first.get();
  second.get();
}

TEST(BlockingSection, ATaskThatFailsInsideOneTakesItsSlotBack) {
  TaskPool pool(1);
  EXPECT_THROW(pool.runAll(1, [](int) {
    const BlockingSection waiting;
    throw std::runtime_error("inside");
  }), std::runtime_error);
  std::atomic<int> computing{0}, most{0};
  pool.runAll(4, [&](int) {
    most = std::max<int>(most, ++computing);
    --computing;
  });
  EXPECT_EQ(most, 1);
}

TEST(BlockingSection, OutsideAPoolTheThreadGoesOn) {
  TaskPool pool(1);
  int ran = 0;
  {
    const BlockingSection waiting;
    pool.runAll(1, [&](int) { ++ran; });
  }
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace thalweg
