#include "connect/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "connect/settings.h"

namespace thalweg::connect {
namespace {

int touchStack(int levels) {
  volatile char frame[8000];
  frame[levels % 8000] = 1;
  return levels == 0 ? 0 : frame[levels % 8000] + touchStack(levels - 1);
}

TEST(WorkerPool, GrowsWhileThreadsAreBusy) {
  WorkerPool pool(4);
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  std::atomic<int> running{0};
  for (int i = 0; i < 3; ++i) {
    pool.post([&, released] {
      ++running;
      released.wait();
    });
  }
  std::promise<void> fourth;
  pool.post([&] { fourth.set_value(); });
  EXPECT_EQ(fourth.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
  release.set_value();
}

TEST(WorkerPool, RunsWhatWaitsBeforeItShutsDown) {
  std::atomic<int> ran{0};
  WorkerPool pool(1);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(pool.post([&] { ++ran; }));
  pool.shutDown();
  EXPECT_EQ(ran, 100);
  EXPECT_FALSE(pool.post([&] { ++ran; }));
}

TEST(WorkerPool, StacksHoldAThousandLevelsOfEightKilobytes) {
  WorkerPool pool(1);
  std::promise<int> sum;
  pool.post([&] { sum.set_value(touchStack(1024)); });
  EXPECT_EQ(sum.get_future().get(), 1024);
}

TEST(Settings, DurationsAndSizesInSparksForm) {
  using std::chrono::milliseconds;
  EXPECT_EQ(parseDuration("2m"), milliseconds(120'000));
  EXPECT_EQ(parseDuration("500ms"), milliseconds(500));
  EXPECT_EQ(parseDuration("7"), milliseconds(7));
  EXPECT_EQ(parseDuration("-1"), std::nullopt);
  EXPECT_EQ(parseDuration("soon"), std::nullopt);
  EXPECT_EQ(parseByteSize("1g"), int64_t{1} << 30);
  EXPECT_EQ(parseByteSize("64KB"), 65536);
  EXPECT_EQ(parseByteSize("9999999999g"), std::nullopt);
  EXPECT_EQ(parseByteSize(""), std::nullopt);
}

}  // namespace
}  // namespace thalweg::connect
