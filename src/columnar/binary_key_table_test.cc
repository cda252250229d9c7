#include "columnar/binary_key_table.h"

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

}  // namespace
}  // namespace thalweg
