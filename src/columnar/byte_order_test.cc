#include "columnar/byte_order.h"

#include <algorithm>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace thalweg {
namespace {

std::vector<std::string> inOrder(const std::vector<std::string>& keys) {
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  std::vector<std::string> sorted;
  for (const uint32_t i : byteOrderOf(views)) sorted.push_back(keys[i]);
  return sorted;
}

TEST(ByteOrder, IsThatOfUnsignedBytesWithShorterKeysFirst) {
  const std::string zero(1, '\0');
  EXPECT_EQ(inOrder({"b", "\xff", "", "a" + zero, "a", zero}),
            (std::vector<std::string>{"", zero, "a", "a" + zero, "b", "\xff"}));
}

TEST(ByteOrder, KeepsEqualKeys) {
  EXPECT_EQ(inOrder({"twice and long", "once", "twice and long", ""}),
            (std::vector<std::string>{"", "once", "twice and long", "twice and long"}));
}

// Keys of few different bytes share beginnings of all lengths.
TEST(ByteOrder, IsTheOneOfStringComparisons) {
  std::mt19937 random(7);
  std::vector<std::string> keys(5000);
  for (std::string& key : keys) {
    key.resize(random() % 40);
    for (char& byte : key) byte = static_cast<char>(random() % 2 == 0 ? 0 : 0x80);
  }
  std::vector<std::string> sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(inOrder(keys), sorted);
}

TEST(ByteOrder, OfNoKeysIsEmpty) {
  EXPECT_TRUE(byteOrderOf({}).empty());
}

}  // namespace
}  // namespace thalweg
