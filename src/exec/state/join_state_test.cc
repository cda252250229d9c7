// A join's state against plain maps: rows by key, what the four stores say has changed, and what a load of
// them gives back.
#include "exec/state/join_state.h"

#include <map>
#include <random>
#include <set>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

using Store = std::map<std::string, std::string>;
using Stores = std::vector<std::unique_ptr<StorePartition>>;

JoinStateLayout layoutOf(std::optional<EventTimeKey> rowExpiry,
                         std::optional<EventTimeKey> keyExpiry = std::nullopt) {
  JoinStateLayout::Side side;
  side.keys = {{"field0", stringType()}, {"field1", timestampType()}};
  side.columns = {{"ts", timestampType()}, {"v", longType()}};
  side.expiry = rowExpiry;
  return JoinStateLayout({side, side}, keyExpiry);
}

struct Row {
  std::string key;
  int64_t keyTime = 0;
  int64_t time = 0;
  int64_t value = 0;
  bool matched = false;
  auto operator<=>(const Row&) const = default;
};

std::shared_ptr<arrow::Array> timesArray(int64_t time) {
  arrow::TimestampBuilder builder(toArrowType(*timestampType()), arrow::default_memory_pool());
  throwIfFailed(builder.Append(time));
  return valueOrThrow(builder.Finish());
}

template <typename Builder, typename Value>
std::shared_ptr<arrow::Array> arrayOf(Value value) {
  Builder builder;
  throwIfFailed(builder.Append(value));
  return valueOrThrow(builder.Finish());
}

class JoinStateTest : public ::testing::Test {
 protected:
  void start(std::optional<EventTimeKey> rowExpiry, std::optional<EventTimeKey> keyExpiry = std::nullopt) {
    layout_ = std::make_unique<JoinStateLayout>(layoutOf(rowExpiry, keyExpiry));
    stores_ = JoinStore::makeAll(*layout_);
    atRest_.assign(stores_.size(), {});
  }
  JoinState& state() { return static_cast<JoinStore&>(*stores_[0]).state(); }

  void add(JoinSide side, const Row& row) {
    BinaryRows keys, rows;
    layout_->keyEncoder().encode({arrayOf<arrow::StringBuilder>(row.key), timesArray(row.keyTime)}, 0, 1,
                                 &keys);
    layout_->rowEncoder(side).encode({timesArray(row.time), arrayOf<arrow::Int64Builder>(row.value),
                                      arrayOf<arrow::BooleanBuilder>(row.matched)},
                                     0, 1, &rows);
    const std::optional<int64_t> time = layout_->keyExpiry() ? row.keyTime : row.time;
    state().append(side, state().number(keys)[0], rows[0], time);
  }

  // What the stores say has changed, applied to what the files have.
  void commit() {
    for (size_t i = 0; i < stores_.size(); ++i) {
      std::set<std::string> seen;
      for (const StateChange& change : stores_[i]->changes()) {
        const std::string key(change.key);
        EXPECT_TRUE(seen.insert(key).second) << "a key twice";
        if (change.kind == StateChange::Kind::Put) {
          atRest_[i][key] = change.value;
        } else {
          EXPECT_EQ(atRest_[i].erase(key), 1u) << "a key that the files do not have";
        }
      }
      stores_[i]->changesWritten();
    }
  }
  static Store entriesOf(const StorePartition& store) {
    Store entries;
    std::string last;
    store.entries()([&](std::string_view key, std::string_view value) {
      EXPECT_TRUE(entries.empty() || last < key) << "out of order";
      last = key;
      entries[last] = value;
    });
    return entries;
  }
  void expectStored() {
    for (size_t i = 0; i < stores_.size(); ++i)
      EXPECT_EQ(entriesOf(*stores_[i]), atRest_[i]) << "store " << i;
  }
  void load(const std::vector<Store>& stores) {
    for (const auto& store : stores_) store->restart();
    for (size_t i = 0; i < stores.size(); ++i) {
      for (const auto& [key, value] : stores[i]) stores_[i]->apply({StateChange::Kind::Put, key, value});
    }
    for (const auto& store : stores_) store->finishLoad();
  }
  void reload() { load(std::vector<Store>(atRest_)); }

  JoinState::Rows takeExpiredRows(JoinSide side, int64_t watermark) {
    JoinState::Rows all;
    state().takeExpiredRows(side, watermark, [&](const JoinState::Rows& rows) {
      all.insert(all.end(), rows.begin(), rows.end());
    });
    return all;
  }
  std::array<JoinState::Rows, 2> takeExpiredKeys(int64_t watermark) {
    std::array<JoinState::Rows, 2> all;
    state().takeExpiredKeys(watermark, [&](const std::array<JoinState::Rows, 2>& rows) {
      for (size_t side = 0; side < 2; ++side)
        all[side].insert(all[side].end(), rows[side].begin(), rows[side].end());
    });
    return all;
  }

  std::multiset<Row> rowsOf(JoinSide side) {
    std::multiset<Row> found;
    state().rows(side).forEach([&](uint32_t row) { found.insert(rowOf(side, row)); });
    return found;
  }
  Row rowOf(JoinSide side, uint32_t row) {
    const auto columns = state().decode(side, std::vector{row});
    return {"", 0, static_cast<const arrow::TimestampArray&>(*columns[0]).Value(0),
            static_cast<const arrow::Int64Array&>(*columns[1]).Value(0), state().rows(side).isMatched(row)};
  }

  std::unique_ptr<JoinStateLayout> layout_;
  Stores stores_;
  std::vector<Store> atRest_;
};

TEST_F(JoinStateTest, TheStoresAreSparks) {
  start(EventTimeKey{0, false});
  const auto stores = layout_->stores();
  std::vector<std::string> names;
  for (const auto& store : stores) names.push_back(store.name);
  EXPECT_EQ(names, (std::vector<std::string>{"left-keyToNumValues", "left-keyWithIndexToValue",
                                             "right-keyToNumValues", "right-keyWithIndexToValue"}));
  EXPECT_EQ(stores[1].key->simpleString(), "struct<field0:string,field1:timestamp,index:bigint>");
  EXPECT_EQ(stores[1].value->simpleString(), "struct<ts:timestamp,v:bigint,matched:boolean>");
  EXPECT_EQ(stores[0].value->simpleString(), "struct<value:bigint>");
}

// The last row of a key takes the place of one that leaves: indices stay dense, and the files hear of both.
TEST_F(JoinStateTest, ARowThatLeavesIsReplacedByTheLastOfItsKey) {
  start(EventTimeKey{0, false});
  for (const int64_t time : {10, 20, 30}) add(JoinSide::Left, {"k", 0, time, time});
  commit();
  expectStored();
  EXPECT_EQ(atRest_[1].size(), 3u);
  state().remove(JoinSide::Left, takeExpiredRows(JoinSide::Left, 10));
  commit();
  expectStored();
  EXPECT_EQ(atRest_[1].size(), 2u);
  reload();
  EXPECT_EQ(rowsOf(JoinSide::Left), (std::multiset<Row>{{"", 0, 20, 20}, {"", 0, 30, 30}}));
}

TEST_F(JoinStateTest, RowsThatCameAndWentWithinABatchAreInNoFile) {
  start(EventTimeKey{0, false});
  add(JoinSide::Right, {"k", 0, 10, 1});
  add(JoinSide::Right, {"k", 0, 11, 2});
  state().remove(JoinSide::Right, takeExpiredRows(JoinSide::Right, 10));
  state().remove(JoinSide::Right, takeExpiredRows(JoinSide::Right, 11));
  commit();
  for (const Store& store : atRest_) EXPECT_TRUE(store.empty());
  expectStored();
}

TEST_F(JoinStateTest, KeysEndWithTheRowsOfBothSides) {
  start(std::nullopt, EventTimeKey{1, false});
  add(JoinSide::Left, {"a", 100, 1, 1});
  add(JoinSide::Right, {"a", 100, 2, 2});
  add(JoinSide::Right, {"a", 200, 3, 3});
  commit();
  reload();
  const auto ended = takeExpiredKeys(100);
  EXPECT_EQ(ended[0].size(), 1u);
  EXPECT_EQ(ended[1].size(), 1u);
  for (const JoinSide side : kJoinSides) state().remove(side, ended[static_cast<size_t>(side)]);
  commit();
  expectStored();
  EXPECT_EQ(rowsOf(JoinSide::Left).size(), 0u);
  EXPECT_EQ(rowsOf(JoinSide::Right).size(), 1u);
  EXPECT_TRUE(takeExpiredKeys(199)[1].empty());
  EXPECT_EQ(takeExpiredKeys(200)[1].size(), 1u);
}

// Rows of a semi join leave with their first partner: the pane that they were in must not end another row.
TEST_F(JoinStateTest, ARowMayLeaveBeforeItsTime) {
  start(EventTimeKey{0, false});
  add(JoinSide::Left, {"k", 0, 10, 1});
  uint32_t only = JoinState::kNone;
  state().rows(JoinSide::Left).forEach([&](uint32_t row) { only = row; });
  state().remove(JoinSide::Left, std::vector{only});
  add(JoinSide::Left, {"k", 0, 20, 2});
  EXPECT_TRUE(takeExpiredRows(JoinSide::Left, 19).empty());
  EXPECT_EQ(takeExpiredRows(JoinSide::Left, 20).size(), 1u);

  start(std::nullopt, EventTimeKey{1, false});
  add(JoinSide::Left, {"k", 10, 1, 1});
  state().rows(JoinSide::Left).forEach([&](uint32_t row) { only = row; });
  state().remove(JoinSide::Left, std::vector{only});
  commit();
  add(JoinSide::Left, {"other", 20, 1, 1});
  add(JoinSide::Left, {"k", 10, 1, 1});
  commit();
  EXPECT_EQ(takeExpiredKeys(19)[0].size(), 1u);
  EXPECT_EQ(takeExpiredKeys(20)[0].size(), 1u);
}

// A key of which no row was kept leaves nothing behind: its number may be another key's next.
TEST_F(JoinStateTest, AKeyWithoutRowsIsForgotten) {
  start(std::nullopt, EventTimeKey{1, false});
  for (int i = 0; i < 3; ++i) {
    BinaryRows keys;
    layout_->keyEncoder().encode({arrayOf<arrow::StringBuilder>(std::string("gone")), timesArray(1)}, 0, 1,
                                 &keys);
    state().number(keys);
    commit();
    EXPECT_TRUE(atRest_[0].empty());
  }
  add(JoinSide::Left, {"kept", 50, 1, 1});
  EXPECT_TRUE(takeExpiredKeys(49)[0].empty());
  EXPECT_EQ(takeExpiredKeys(50)[0].size(), 1u);
}

TEST_F(JoinStateTest, RandomBatchesAgainstAPlainModel) {
  start(EventTimeKey{0, false});
  std::mt19937 random(5);
  std::multiset<Row> model[2];
  int64_t watermark = 0;
  for (int batch = 0; batch < 120; ++batch) {
    for (const JoinSide side : kJoinSides) {
      for (auto count = random() % 30; count > 0; --count) {
        const Row row{"k" + std::to_string(random() % 7), 0,
                      watermark + 1 + static_cast<int64_t>(random() % 100),
                      static_cast<int64_t>(random() % 1000)};
        add(side, row);
        model[static_cast<size_t>(side)].insert({"", 0, row.time, row.value});
      }
      // Some rows find a partner.
      std::vector<uint32_t> some;
      state().rows(side).forEach([&](uint32_t row) {
        if (random() % 10 == 0) some.push_back(row);
      });
      for (const uint32_t row : some) {
        Row known = rowOf(side, row);
        auto& rows = model[static_cast<size_t>(side)];
        rows.erase(rows.find(known));
        known.matched = true;
        rows.insert(known);
        state().setMatched(side, row);
      }
    }
    watermark += static_cast<int64_t>(random() % 30);
    for (const JoinSide side : kJoinSides) {
      state().remove(side, takeExpiredRows(side, watermark));
      std::erase_if(model[static_cast<size_t>(side)], [&](const Row& row) { return row.time <= watermark; });
    }
    commit();
    expectStored();
    if (batch % 10 == 9) reload();
    for (const JoinSide side : kJoinSides) {
      ASSERT_EQ(rowsOf(side), model[static_cast<size_t>(side)]);
      ASSERT_EQ(stores_[side == JoinSide::Left ? 1 : 3]->numKeys(),
                static_cast<int64_t>(model[static_cast<size_t>(side)].size()));
    }
  }
}

// Files of which one is older than the others, or lost.
TEST_F(JoinStateTest, StoresThatDoNotAgreeAreRefused) {
  start(EventTimeKey{0, false});
  for (const int64_t time : {10, 20, 30}) add(JoinSide::Left, {"k", 0, time, time});
  add(JoinSide::Left, {"other", 0, 10, 1});
  commit();
  const auto conditionOf = [&](std::vector<Store> stores) -> std::string {
    try {
      load(stores);
    } catch (const Error& error) {
      return error.condition();
    }
    return "loaded";
  };
  EXPECT_EQ(conditionOf(atRest_), "loaded");
  for (const auto& [key, value] : atRest_[1]) {
    std::vector<Store> damaged = atRest_;
    damaged[1].erase(key);
    EXPECT_EQ(conditionOf(damaged), "STATE_STORE_KEY_ROW_FORMAT_VALIDATION_FAILURE");
    damaged = atRest_;
    damaged[1][key] = value.substr(0, value.size() - 8);
    EXPECT_EQ(conditionOf(damaged), "STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE");
  }
  for (const auto& [key, value] : atRest_[0]) {
    std::vector<Store> damaged = atRest_;
    damaged[0].erase(key);
    EXPECT_EQ(conditionOf(damaged), "STATE_STORE_KEY_ROW_FORMAT_VALIDATION_FAILURE");
    damaged = atRest_;
    damaged[0][key] = "short";
    EXPECT_EQ(conditionOf(damaged), "STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE");
  }
}

}  // namespace
}  // namespace thalweg
