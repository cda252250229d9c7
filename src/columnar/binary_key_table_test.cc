#include "columnar/binary_key_table.h"

#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace thalweg {
namespace {

TEST(BinaryKeyTable, GivesTheNumbersOfRemovedKeysAgain) {
  BinaryKeyTable table;
  bool added = false;
  EXPECT_EQ(table.findOrAdd("a", &added), 0u);
  EXPECT_TRUE(added);
  EXPECT_EQ(table.findOrAdd("", &added),
            1u);  // the key of an aggregate without grouping columns has no bytes
  EXPECT_EQ(table.findOrAdd("", &added), 1u);
  EXPECT_FALSE(added);
  table.remove(0);
  EXPECT_EQ(table.size(), 1);
  EXPECT_FALSE(table.isLive(0));
  EXPECT_EQ(table.findOrAdd("b", &added), 0u);
  EXPECT_EQ(table.key(0), "b");
  EXPECT_EQ(table.liveNumbers(), (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(table.numbersEnd(), 2);
}

TEST(BinaryKeyTable, FindsManyAtOnce) {
  BinaryKeyTable table;
  bool added = false;
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i) keys.push_back(std::string(20, 'k') + std::to_string(i));
  for (int i = 0; i < 1000; i += 2) table.findOrAdd(keys[static_cast<size_t>(i)], &added);
  for (uint32_t number = 0; number < 500; number += 5) table.remove(number);  // every tenth key
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  std::vector<uint8_t> found;
  table.contains(views, &found);
  ASSERT_EQ(found.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(found[static_cast<size_t>(i)], i % 2 == 0 && i % 10 != 0) << i;
  table.contains({}, &found);
  EXPECT_TRUE(found.empty());
}

// Against std::map over random additions and removals: growth, holes in probes, and a compacted arena among
// them.
TEST(BinaryKeyTable, HoldsWhatAMapHolds) {
  BinaryKeyTable table;
  std::map<std::string, uint32_t> model;
  std::mt19937 random(7);
  for (int step = 0; step < 200'000; ++step) {
    const std::string key = std::string(40, 'k') + std::to_string(random() % 5000);
    const auto known = model.find(key);
    if (known != model.end() && random() % 2 == 0) {
      table.remove(known->second);
      model.erase(known);
      continue;
    }
    bool added = false;
    const uint32_t number = table.findOrAdd(key, &added);
    ASSERT_EQ(added, known == model.end());
    if (known != model.end()) {
      ASSERT_EQ(number, known->second);
    }
    model[key] = number;
  }
  ASSERT_EQ(table.size(), static_cast<int64_t>(model.size()));
  for (const auto& [key, number] : model) ASSERT_EQ(table.key(number), key);
  EXPECT_LE(table.numbersEnd(), 5000);
}

// Blocks that are not full, keys that come twice in one, and a table that grows between blocks.
TEST(BinaryKeyTable, NumbersManyAsOneByOne) {
  BinaryKeyTable together, oneByOne;
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> texts;
    for (size_t i = random() % 100; i > 0; --i) texts.push_back(std::to_string(random() % 2000));
    const std::vector<std::string_view> keys(texts.begin(), texts.end());
    std::vector<uint32_t> numbers, added, expected, expectedAdded;
    together.findOrAdd(keys, &numbers, &added);
    for (uint32_t i = 0; i < keys.size(); ++i) {
      bool isNew = false;
      expected.push_back(oneByOne.findOrAdd(keys[i], &isNew));
      if (isNew) expectedAdded.push_back(i);
    }
    ASSERT_EQ(numbers, expected);
    ASSERT_EQ(added, expectedAdded);
    if (numbers.empty()) continue;
    together.remove(numbers[0]);
    oneByOne.remove(numbers[0]);
  }
}

// Keys that end inside and at the end of eight bytes, with and without zeros behind, and long ones that differ late.
TEST(BinaryKeyTable, SortsByBytes) {
  using namespace std::string_literals;
  BinaryKeyTable table;
  std::vector<std::string> keys = {""s, "\0"s, "\0\0\0\0\0\0\0\0"s, "\0\0\0\0\0\0\0\0\0"s, "a"s, "a\0"s, "\xff"s, "abcdefgh"s, "abcdefgh\0"s, "abcdefghi"s};
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i) keys.push_back(std::string(24, 'k') + std::to_string(random() % 900) + std::string(random() % 20, '\0'));
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  std::vector<std::string> shuffled = keys;
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  bool added = false;
  for (const std::string& key : shuffled) table.findOrAdd(key, &added);
  std::vector<std::string> sorted;
  for (const uint32_t number : table.sortedNumbers()) sorted.emplace_back(table.key(number));
  EXPECT_EQ(sorted, keys);
}

// Large keys that differ at their ends only: how far they agree costs no depth of calls.
TEST(BinaryKeyTable, SortsLongKeysWithAllButTheEndInCommon) {
  BinaryKeyTable table;
  bool added = false;
  std::vector<std::string> keys;
  for (const char* end : {"c", "a", "", "ab", "b"}) keys.push_back(std::string(4'000'003, 'x') + end);
  for (const std::string& key : keys) table.findOrAdd(key, &added);
  EXPECT_EQ(table.sortedNumbers(), (std::vector<uint32_t>{2, 1, 3, 4, 0}));
}

// Of a key as large as a record of Kafka may be, and of many small ones after it.
TEST(BinaryKeyTable, TakesKeysOfAnySize) {
  BinaryKeyTable table;
  bool added = false;
  const std::string large(5 << 20, 'x');
  table.findOrAdd(large, &added);
  for (int i = 0; i < 1000; ++i) table.findOrAdd(std::to_string(i), &added);
  EXPECT_EQ(table.key(0), large);
  EXPECT_EQ(table.key(1000), "999");
}

}  // namespace
}  // namespace thalweg
