#include "common/testing/every_schedule.h"

#include <set>

#include <gtest/gtest.h>

namespace thalweg {
namespace {

// Two actors of three turns each: 6! / (3! 3!) orders.
TEST(EverySchedule, EachOrderOfStepsComesOnce) {
  std::set<std::string> orders;
  const int64_t count = forEachSchedule([&](Schedule& schedule) {
    std::string order;
    const auto actor = [&](size_t number, char letter) {
      return [&schedule, &order, number, letter] {
        order += letter;
        schedule.step(number);
        order += letter;
        schedule.step(number);
        order += letter;
      };
    };
    schedule.run({actor(0, 'a'), actor(1, 'b')});
    EXPECT_TRUE(orders.insert(order).second) << order;
    return true;
  });
  EXPECT_EQ(count, 20);
  EXPECT_EQ(orders.size(), 20u);
}

// What an actor does may depend on what came before it.
TEST(EverySchedule, ActorsMayTakeMoreStepsInSomeOrders) {
  int seen = 0;
  forEachSchedule([&](Schedule& schedule) {
    int value = 0;
    const auto actor = [&](size_t number) {
      return [&, number] {
        const int read = value;
        schedule.step(number);
        if (value != read) schedule.step(number);
        ++value;
      };
    };
    schedule.run({actor(0), actor(1)});
    EXPECT_EQ(value, 2);
    ++seen;
    return true;
  });
  // 4! / (2! 2!): a third turn is only taken when the other has ended.
  EXPECT_EQ(seen, 6);
}

TEST(EverySchedule, AnActorsExceptionComesOutWhenAllHaveEnded) {
  bool ended = false;
  Schedule schedule(std::vector<int>{});
  EXPECT_THROW(schedule.run({[] { throw 1; }, [&] { ended = true; }}), int);
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace thalweg
