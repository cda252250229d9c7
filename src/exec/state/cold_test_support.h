// A state twice, once with all in memory and once with next to no room there: what they say must be the same.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "exec/state/operator_state.h"
#include "expr/cast/value_text.h"
#include "state/test_support.h"
#include "types/arrow_types.h"
#include "types/time_zone.h"

namespace thalweg {

using Lines = std::vector<std::string>;

// The rows of batches as texts, sorted.
inline Lines linesOf(const Schema& schema, const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches) {
  Lines lines;
  for (const auto& batch : batches) {
    for (int64_t row = 0; row < batch->num_rows(); ++row) {
      std::string line;
      for (int column = 0; column < batch->num_columns(); ++column) {
        line += "|";
        if (batch->column(column)->IsNull(row))
          line += "NULL";
        else
          ValueText(*schema.fields()[static_cast<size_t>(column)].type, TimeZone())
              .append(*batch->column(column), row, &line);
      }
      lines.push_back(line);
    }
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

// One of the two.
class TwinState {
 public:
  using Entries = std::map<std::string, std::string>;

  explicit TwinState(std::vector<std::unique_ptr<StorePartition>> stores)
      : stores_(std::move(stores)), files_(stores_.size()), older_(stores_.size()) {}
  void setRoom(ColdTier& tier, StateRoom room) {
    for (size_t i = 0; i < stores_.size(); ++i) {
      cold_.push_back(std::make_unique<ColdPartition>(tier, static_cast<uint32_t>(cold_.size())));
      stores_[i]->setRoom(cold_.back().get(), room);
    }
  }
  StorePartition& store(size_t i) { return *stores_[i]; }
  const std::vector<Entries>& files() const { return files_; }
  int64_t numCold() const {
    int64_t sum = 0;
    for (const auto& cold : cold_) sum += cold->numKeys();
    return sum;
  }

  // What has changed, by store: "remove" or the value of each key.
  std::vector<Entries> commit() {
    std::vector<Entries> all(stores_.size());
    for (size_t i = 0; i < stores_.size(); ++i) {
      for (const StateChange& change : stores_[i]->changes()) {
        const std::string key(change.key);
        const bool removes = change.kind == StateChange::Kind::Remove;
        EXPECT_TRUE(all[i].emplace(key, removes ? "remove" : std::string(change.value)).second)
            << "a key twice";
        if (removes)
          EXPECT_EQ(files_[i].erase(key), 1u) << "a key that the files do not have";
        else
          files_[i][key] = change.value;
      }
      stores_[i]->changesWritten();
    }
    return all;
  }
  void expectEntriesOfFiles() {
    for (size_t i = 0; i < stores_.size(); ++i) {
      Entries entries;
      std::string last;
      stores_[i]->entries()([&](std::string_view key, std::string_view value) {
        EXPECT_TRUE(entries.empty() || last < key) << "out of order";
        last = key;
        entries[last] = value;
      });
      EXPECT_EQ(entries, files_[i]) << "store " << i;
    }
  }
  // As from a snapshot, and change files with some keys that come again and some that are gone.
  void reload(std::mt19937 random) {
    for (const auto& store : stores_) store->restart();
    for (size_t i = 0; i < stores_.size(); ++i) {
      // A snapshot that turned out to be unusable, of another version.
      for (const auto& [key, value] : older_[i]) stores_[i]->apply({StateChange::Kind::Put, key, value});
      stores_[i]->restart();
      std::vector<std::string> again;
      for (const auto& [key, value] : files_[i]) {
        stores_[i]->apply({StateChange::Kind::Put, key, value});
        if (random() % 4 == 0) again.push_back(key);
      }
      for (const std::string& key : again) {
        if (random() % 2 == 0) stores_[i]->apply({StateChange::Kind::Remove, key, {}});
        stores_[i]->apply({StateChange::Kind::Put, key, files_[i][key]});
      }
    }
    for (const auto& store : stores_) store->finishLoad();
    older_ = files_;
  }

 private:
  std::vector<std::unique_ptr<ColdPartition>> cold_;
  std::vector<std::unique_ptr<StorePartition>> stores_;
  std::vector<Entries> files_;
  std::vector<Entries> older_;  // at the last load
};

// Runs batches over both, with starts from the files between.
class Twins {
 public:
  using Make = std::function<std::vector<std::unique_ptr<StorePartition>>()>;
  // `bytes`: the room of each store of the cold one.
  Twins(const Make& make, int64_t bytes, uint32_t seed)
      : tier_(folder_.path()), hot_(make()), cold_(make()), random_(seed) {
    cold_.setRoom(tier_, {bytes, seed % 2 == 0 ? bytes : 1 << 20});
  }

  std::mt19937& random() { return random_; }
  // Gives what comes out of a batch over a state. It must not use random().
  void batch(const std::function<Lines(TwinState&)>& run) {
    const Lines expected = run(hot_);
    ASSERT_EQ(run(cold_), expected);
    numLines_ += expected.size();
    ASSERT_EQ(cold_.commit(), hot_.commit());
    for (size_t i = 0; i < hot_.files().size(); ++i)
      ASSERT_EQ(cold_.store(i).numKeys(), hot_.store(i).numKeys());
    mostCold_ = std::max(mostCold_, cold_.numCold());
    if (random_() % 5 == 0) {
      hot_.expectEntriesOfFiles();
      cold_.expectEntriesOfFiles();
    }
    if (random_() % 7 == 0) {
      hot_.reload(random_);
      cold_.reload(random_);
    }
  }
  // Something came out, and something was cold.
  void expectUsed() const {
    EXPECT_GT(numLines_, 0u);
    EXPECT_GT(mostCold_, 0);
  }

 private:
  TestFolder folder_;
  ColdTier tier_;
  TwinState hot_, cold_;
  std::mt19937 random_;
  size_t numLines_ = 0;
  int64_t mostCold_ = 0;
};

// Each test's rooms: none, and one for some keys.
inline const std::vector<int64_t>& rooms() {
  static const std::vector<int64_t> made = {0, 3000};
  return made;
}

}  // namespace thalweg
