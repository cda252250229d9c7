#include "state/cold_tier.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "state/test_support.h"

namespace thalweg {
namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;

Entries entriesOf(ColdPartition& partition) {
  Entries entries;
  partition.forEach([&](std::string_view key, std::string_view value) {
    entries.emplace_back(key, value);
    return true;
  });
  return entries;
}

Entries takeUntil(ColdPartition& partition, int64_t limit) {
  Entries entries;
  partition.takeUntil(
      limit, [&](std::string_view key, std::string_view value) { entries.emplace_back(key, value); });
  return entries;
}

TEST(ColdTier, GivesAKeyOnce) {
  TestFolder folder;
  ColdTier tier(folder.path());
  ColdPartition partition(tier, 0);
  partition.put("a", "1", std::nullopt);
  partition.put("b", "", 7);
  partition.flush();
  EXPECT_EQ(partition.numKeys(), 2);
  std::string value;
  EXPECT_FALSE(partition.take("c", &value));
  ASSERT_TRUE(partition.take("b", &value));
  EXPECT_EQ(value, "");
  EXPECT_FALSE(partition.take("b", &value)) << "without a flush between";
  EXPECT_FALSE(partition.contains("b"));
  EXPECT_TRUE(partition.contains("a"));
  ASSERT_TRUE(partition.take("a", &value));
  EXPECT_EQ(value, "1");
  partition.flush();
  EXPECT_FALSE(partition.take("a", &value));
  EXPECT_EQ(takeUntil(partition, 100), Entries{});
  EXPECT_EQ(partition.numKeys(), 0);
}

TEST(ColdTier, RemovesByTimeWithoutAValue) {
  TestFolder folder;
  ColdTier tier(folder.path());
  ColdPartition partition(tier, 0);
  for (int i = 0; i < 100; ++i) partition.put("key" + std::to_string(i), "value", i);
  partition.flush();
  std::vector<std::string> removed;
  std::string value;
  std::optional<int64_t> time;
  partition.removeUntil(49, [&](std::string_view key) {
    removed.emplace_back(key);
    EXPECT_FALSE(partition.take(key, &value)) << "it is gone already";
    // Another one may go meanwhile.
    if (key == "key7") {
      EXPECT_TRUE(partition.take("key80", &value, &time));
    }
  });
  EXPECT_EQ(removed.size(), 50u);
  EXPECT_EQ(time, 80);
  EXPECT_EQ(partition.numKeys(), 49);
  EXPECT_EQ(entriesOf(partition).size(), 49u);
  EXPECT_EQ(takeUntil(partition, 1000).size(), 49u);
}

TEST(ColdTier, SortsWhatHasNoRoom) {
  TestFolder folder;
  ColdTier tier(folder.path());
  ColdPartition partition(tier, 0), other(tier, 1);
  partition.put("a", "of the partition", 1);
  partition.flush();
  const auto takeAll = [](ColdSorter& sorter) {
    Entries entries;
    sorter.takeAll([&](std::string_view key, std::string_view value) { entries.emplace_back(key, value); });
    return entries;
  };
  {
    ColdSorter sorter(partition), ofOther(other);
    std::map<std::string, std::string> expected;
    std::mt19937 random(1);
    for (int i = 0; i < 50'000; ++i) {
      const std::string key = std::to_string(random() % 20'000);
      if (random() % 5 == 0) {
        sorter.remove(key);
        expected.erase(key);
      } else {
        sorter.put(key, std::string(50, 'v') + std::to_string(i));
        expected[key] = std::string(50, 'v') + std::to_string(i);
      }
    }
    ofOther.put("0", "of another partition");
    sorter.removeIf([](std::string_view key) { return key.ends_with("7"); });
    std::erase_if(expected, [](const auto& entry) { return entry.first.ends_with("7"); });
    EXPECT_EQ(takeAll(sorter), Entries(expected.begin(), expected.end()));
    EXPECT_EQ(takeAll(sorter), Entries{});
    sorter.put("left", "to its end");
  }
  ColdSorter next(partition);
  next.put("b", "1");
  EXPECT_EQ(takeAll(next), (Entries{{"b", "1"}}));
  EXPECT_EQ(entriesOf(partition), (Entries{{"a", "of the partition"}}));
}

TEST(ColdTier, TakesByTimeTheEarliestFirst) {
  TestFolder folder;
  ColdTier tier(folder.path());
  ColdPartition partition(tier, 3);
  partition.put("new", "n", 5);
  partition.put("ancient", "a", -1'000'000);
  partition.put("never", "x", std::nullopt);
  partition.put("limit", "l", 10);
  partition.put("later", "z", 11);
  partition.flush();
  EXPECT_EQ(takeUntil(partition, 10), (Entries{{"ancient", "a"}, {"new", "n"}, {"limit", "l"}}));
  EXPECT_EQ(entriesOf(partition), (Entries{{"later", "z"}, {"never", "x"}}));
  EXPECT_EQ(partition.numKeys(), 2);
}

TEST(ColdTier, PartitionsDoNotSeeEachOther) {
  TestFolder folder;
  ColdTier tier(folder.path());
  ColdPartition one(tier, 1), two(tier, 2);
  one.put("k", "1", 1);
  two.put("k", "2", 1);
  one.flush();
  two.flush();
  one.clear();
  EXPECT_EQ(entriesOf(one), Entries{});
  EXPECT_EQ(takeUntil(two, 1), (Entries{{"k", "2"}}));
}

// Nothing is on disk before a key is put, nothing is left afterwards.
TEST(ColdTier, ItsFolderComesAndGoes) {
  TestFolder folder;
  {
    ColdTier tier(folder.path());
    ColdPartition partition(tier, 0);
    std::string value;
    EXPECT_FALSE(partition.take("a", &value));
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
    partition.put("a", "1", 1);
    partition.flush();
    EXPECT_FALSE(std::filesystem::is_empty(folder.path()));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// A process that was killed cannot remove its folder. Those of living ones are not touched: a store that is
// open says so by its lock, and one's own by its name.
TEST(ColdTier, RemovesWhatKilledProcessesLeft) {
  TestFolder folder;
  const std::filesystem::path left = std::filesystem::path(folder.path()) / "thalweg-state-1-0d1b";
  const std::filesystem::path others = std::filesystem::path(folder.path()) / "something-else";
  std::filesystem::create_directories(left);
  std::filesystem::create_directories(others);
  std::ofstream(left / "LOCK") << "";
  ColdTier first(folder.path()), second(folder.path());
  ColdPartition inFirst(first, 0), inSecond(second, 0);
  inFirst.put("a", "1", 1);
  inFirst.flush();
  inSecond.put("b", "2", 1);
  inSecond.flush();
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(others));
  EXPECT_EQ(entriesOf(inFirst), (Entries{{"a", "1"}}));

  // Of a living process: its lock, taken by a child that waits.
  const std::filesystem::path living = std::filesystem::path(folder.path()) / "thalweg-state-2-7c3e";
  std::filesystem::create_directories(living);
  std::ofstream(living / "LOCK") << "";
  int ready[2], done[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(done), 0);
  const pid_t child = fork();
  if (child == 0) {
    const int file = open((living / "LOCK").c_str(), O_RDWR);
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    const bool locked = fcntl(file, F_SETLK, &lock) == 0;
    char byte = locked ? 1 : 0;
    if (write(ready[1], &byte, 1) != 1 || read(done[0], &byte, 1) != 1) _exit(1);
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 1);
  ColdTier third(folder.path());
  ColdPartition inThird(third, 0);
  inThird.put("c", "3", 1);
  inThird.flush();
  EXPECT_TRUE(std::filesystem::exists(living));
  ASSERT_EQ(write(done[1], &byte, 1), 1);
  waitpid(child, nullptr, 0);
}

TEST(ColdTier, HoldsWhatAMapHolds) {
  TestFolder folder;
  ColdTier tier(folder.path());
  ColdPartition partition(tier, 0);
  std::map<std::string, std::pair<std::string, int64_t>> model;
  std::mt19937 random(5);
  for (int step = 0; step < 20'000; ++step) {
    const std::string key = std::to_string(random() % 3000) + std::string(random() % 3, '\0');
    const auto known = model.find(key);
    if (known != model.end()) {
      std::string value;
      ASSERT_TRUE(partition.take(key, &value));
      ASSERT_EQ(value, known->second.first);
      model.erase(known);
    } else {
      const int64_t time = static_cast<int64_t>(random() % 1000);
      model[key] = {std::to_string(step), time};
      partition.put(key, std::to_string(step), time);
    }
    partition.flush();
    if (step % 5000 == 4999) {
      std::map<std::string, std::string> taken;
      for (auto& [k, v] : takeUntil(partition, 300)) taken[k] = v;
      std::map<std::string, std::string> expected;
      for (auto it = model.begin(); it != model.end();) {
        const bool goes = it->second.second <= 300;
        if (goes) expected[it->first] = it->second.first;
        it = goes ? model.erase(it) : std::next(it);
      }
      ASSERT_EQ(taken, expected);
    }
  }
  ASSERT_EQ(partition.numKeys(), static_cast<int64_t>(model.size()));
  Entries expected;
  for (const auto& [key, valueAndTime] : model) expected.emplace_back(key, valueAndTime.first);
  EXPECT_EQ(entriesOf(partition), expected);
}

}  // namespace
}  // namespace thalweg
