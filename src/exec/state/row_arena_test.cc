#include "exec/state/row_arena.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace thalweg {
namespace {

TEST(RowArena, KeepsRowsOfAnySizeUntilTheyAreRemoved) {
  RowArena arena;
  std::mt19937 random(3);
  std::map<int, std::pair<RowArena::Place, std::string>> rows;
  for (int i = 0; i < 20'000; ++i) {
    const std::string bytes(random() % (i % 1000 == 0 ? 3'000'000 : 200), static_cast<char>('a' + i % 26));
    rows[i] = {arena.add(bytes), bytes};
    if (random() % 3 != 0) {
      const auto one =
          std::next(rows.begin(), static_cast<int64_t>(random() % std::min<size_t>(rows.size(), 50)));
      arena.remove(one->second.first);
      rows.erase(one);
    }
  }
  for (const auto& [i, row] : rows) ASSERT_EQ(arena.get(row.first), row.second) << i;
}

TEST(RowArena, GivesMemoryBackAsRowsGoInOrder) {
  RowArena arena;
  std::vector<RowArena::Place> places;
  const std::string row(1000, 'x');
  for (int i = 0; i < 20'000; ++i) {
    places.push_back(arena.add(row));
    if (i >= 1000) arena.remove(places[static_cast<size_t>(i) - 1000]);
    ASSERT_FALSE(arena.isSparse());
  }
  EXPECT_LT(arena.memoryBytes(), 4 << 20);
}

TEST(RowArena, SaysWhenRowsThatWentHoldOnToMemory) {
  RowArena arena;
  std::vector<RowArena::Place> places;
  const std::string row(1000, 'x');
  for (int i = 0; i < 20'000; ++i) places.push_back(arena.add(row));
  for (size_t i = 0; i < places.size(); ++i) {
    if (i % 10 != 0) arena.remove(places[i]);
  }
  EXPECT_TRUE(arena.isSparse());
}

}  // namespace
}  // namespace thalweg
