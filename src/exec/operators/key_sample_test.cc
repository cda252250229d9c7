#include "exec/operators/key_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

namespace thalweg {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string keyOf(int number) {
  return fmt::format("{:07}", number);
}

TEST(KeySampleTest, BoundsAreTheLastKeysOfEqualRanges) {
  KeySample sample(1);
  for (int i = 12; i >= 1; --i) sample.add(keyOf(i));
  EXPECT_THAT(std::move(sample).bounds(3), ElementsAre(keyOf(4), keyOf(8)));
}

TEST(KeySampleTest, EqualKeysAreNotParted) {
  KeySample sample(1);
  for (int i = 0; i < 10; ++i) sample.add("a");
  sample.add("b");
  EXPECT_THAT(std::move(sample).bounds(4), ElementsAre("a", "b"));
}

TEST(KeySampleTest, OneRangeHasNoBounds) {
  KeySample sample(1);
  sample.add("a");
  EXPECT_THAT(std::move(sample).bounds(1), IsEmpty());
}

// 900,000 rows of one task beside 100,000 of another: were as many keys taken of each, the middle would be
// where the two meet.
TEST(KeySampleTest, RowsWeighTheSameWhoeverBroughtThem) {
  KeySample large(1);
  KeySample small(2);
  for (int i = 0; i < 900'000; ++i) large.add(keyOf(i));
  for (int i = 900'000; i < 1'000'000; ++i) small.add(keyOf(i));
  KeySample both(3);
  both.take(std::move(large));
  both.take(std::move(small));
  const std::vector<std::string> bounds = std::move(both).bounds(2);
  ASSERT_EQ(bounds.size(), 1u);
  EXPECT_NEAR(std::stoi(bounds[0]), 500'000, 20'000);
}

TEST(KeySampleTest, LongKeysKeepTheirBeginnings) {
  KeySample sample(1);
  sample.add("a" + std::string(100'000, 'x'));
  sample.add("b" + std::string(100'000, 'x'));
  const std::vector<std::string> bounds = std::move(sample).bounds(2);
  ASSERT_EQ(bounds.size(), 1u);
  EXPECT_EQ(bounds[0].front(), 'a');
  EXPECT_LE(bounds[0].size(), 256u);
}

}  // namespace
}  // namespace thalweg
