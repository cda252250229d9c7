#include "delta/upsert/upsert.h"

#include <cmath>
#include <limits>
#include <random>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "common/testing/condition_of.h"
#include "types/arrow_result.h"
#include "types/ddl.h"

namespace thalweg::delta {
namespace {

using Columns = std::vector<std::shared_ptr<arrow::Array>>;

std::vector<KeyHash> hashesOf(const KeyHasher& hasher, const Columns& columns) {
  std::vector<KeyHash> hashes;
  hasher.hash(columns, columns.empty() ? 1 : columns[0]->length(), &hashes);
  return hashes;
}

std::shared_ptr<arrow::Array> longs(const std::vector<std::optional<int64_t>>& values) {
  arrow::Int64Builder builder;
  for (const auto& value : values) throwIfFailed(value ? builder.Append(*value) : builder.AppendNull());
  return valueOrThrow(builder.Finish());
}

template <typename Builder, typename Value>
std::shared_ptr<arrow::Array> arrayOf(const std::vector<Value>& values) {
  Builder builder;
  throwIfFailed(builder.AppendValues(values));
  return valueOrThrow(builder.Finish());
}

TEST(KeyHasher, KeysAreEqualAsTheyAreGrouped) {
  const KeyHasher doubles({DataType::primitive(TypeId::Double)});
  const auto numbers = hashesOf(
      doubles, {arrayOf<arrow::DoubleBuilder, double>({0.0, -0.0, std::nan("1"), -std::nan("2"), 1.0})});
  EXPECT_EQ(numbers[0], numbers[1]);
  EXPECT_EQ(numbers[2], numbers[3]);
  EXPECT_NE(numbers[0], numbers[4]);

  const auto string = DataType::primitive(TypeId::String);
  const KeyHasher texts({string, string});
  const auto left = arrayOf<arrow::StringBuilder, std::string>({"a", "ab", "", "ab"});
  const auto right = arrayOf<arrow::StringBuilder, std::string>({"bc", "c", "abc", "c"});
  const auto pairs = hashesOf(texts, {left, right});
  EXPECT_EQ(pairs[1], pairs[3]);
  EXPECT_NE(pairs[0], pairs[1]) << "where one column ends counts";
  EXPECT_NE(pairs[0], pairs[2]);

  const KeyHasher longsHasher({DataType::primitive(TypeId::Long)});
  const auto nulls = hashesOf(longsHasher, {longs({std::nullopt, std::nullopt, 0})});
  EXPECT_EQ(nulls[0], nulls[1]);
  EXPECT_NE(nulls[0], nulls[2]);
}

TEST(KeyHasher, EachHasASeedOfItsOwn) {
  const std::vector<DataTypePtr> types = {DataType::primitive(TypeId::Long)};
  EXPECT_NE(hashesOf(KeyHasher(types), {longs({1})}), hashesOf(KeyHasher(types), {longs({1})}));
}

TEST(KeyIndex, FindsEveryRowOfAKeyAndNoOther) {
  for (const int64_t count : {0, 1, 7, 8, 100, 5000}) {
    const KeyHasher hasher({DataType::primitive(TypeId::Long)});
    std::vector<std::optional<int64_t>> keys;
    for (int64_t i = 0; i < count; ++i) keys.emplace_back(i / 3);
    const auto hashes = hashesOf(hasher, {longs(keys)});
    const KeyIndex index(hashes);
    EXPECT_EQ(index.numRows(), count);
    for (int64_t i = 0; i < count; ++i) {
      std::vector<int64_t> rows;
      index.find(hashes[static_cast<size_t>(i)], &rows);
      std::sort(rows.begin(), rows.end());
      std::vector<int64_t> expected;
      for (int64_t row = i / 3 * 3; row < std::min(i / 3 * 3 + 3, count); ++row) expected.push_back(row);
      ASSERT_EQ(rows, expected);
    }
    std::vector<int64_t> none;
    index.find(hashesOf(hasher, {longs({-1})})[0], &none);
    EXPECT_TRUE(none.empty());
  }
}

TEST(KeyIndex, TakesSeventeenBytesARow) {
  std::vector<KeyHash> hashes(100'000);
  std::mt19937_64 random(1);
  for (KeyHash& hash : hashes) hash = {random(), random()};
  EXPECT_LE(KeyIndex(hashes).sizeBytes(), 1'700'000u);
}

// Files are judged by a window's start and a text, as a table of windows has them.
class ChangedKeysTest : public testing::Test {
 protected:
  ChangedKeysTest() {
    Metadata metadata;
    metadata.partitionColumns = {"p"};
    layout_ = makeTableLayout(
        {nullptr, "/t"}, metadata,
        parseSchemaDdl("w STRUCT<start: TIMESTAMP, end: TIMESTAMP>, p STRING, x DOUBLE, n BIGINT"));
    leaves_ = keyLeaves(*layout_, {0, 1, 2});
  }

  struct Key {
    std::optional<int64_t> startSeconds;  // of a window of a minute
    std::optional<std::string> p;
    double x;
  };

  void add(ChangedKeys& keys, const std::vector<Key>& rows) {
    const auto micros = arrow::timestamp(arrow::TimeUnit::MICRO, "UTC");
    const auto fields = arrow::struct_({arrow::field("start", micros), arrow::field("end", micros)});
    arrow::TimestampBuilder starts(micros, arrow::default_memory_pool());
    arrow::TimestampBuilder ends(micros, arrow::default_memory_pool());
    arrow::StringBuilder texts;
    arrow::DoubleBuilder numbers;
    arrow::TypedBufferBuilder<bool> valid;
    for (const Key& key : rows) {
      throwIfFailed(starts.Append(key.startSeconds.value_or(0) * 1'000'000));
      throwIfFailed(ends.Append((key.startSeconds.value_or(0) + 60) * 1'000'000));
      throwIfFailed(key.p ? texts.Append(*key.p) : texts.AppendNull());
      throwIfFailed(numbers.Append(key.x));
      throwIfFailed(valid.Append(key.startSeconds.has_value()));
    }
    const auto windows = std::make_shared<arrow::StructArray>(
        fields, static_cast<int64_t>(rows.size()),
        Columns{valueOrThrow(starts.Finish()), valueOrThrow(ends.Finish())}, valueOrThrow(valid.Finish()));
    const Columns columns = {windows, valueOrThrow(texts.Finish()), valueOrThrow(numbers.Finish())};
    const KeyHasher hasher({layout_->schema->fields()[0].type, layout_->schema->fields()[1].type,
                            layout_->schema->fields()[2].type});
    keys.add(columns, hashesOf(hasher, columns));
  }

  bool mayBeIn(const std::vector<Key>& rows, const std::optional<std::string>& p, const std::string& stats) {
    ChangedKeys keys(leaves_);
    add(keys, rows);
    keys.finish();
    AddFile file;
    file.partitionValues["p"] = p;
    file.stats = stats;
    return keys.mayBeIn(leafBounds(leaves_, file));
  }

  static std::string windows(const std::string& min, const std::string& max) {
    return R"({"numRecords":9,"minValues":{"w":{"start":")" + min +
           R"("},"x":1.0},"maxValues":{"w":{"start":")" + max +
           R"("},"x":5.0},"nullCount":{"w":{"start":0,"end":0},"x":0}})";
  }

  TableLayoutPtr layout_;
  std::vector<KeyLeaf> leaves_;
};

TEST_F(ChangedKeysTest, LeavesAreTheMembersOfStructs) {
  ASSERT_EQ(leaves_.size(), 4u);
  EXPECT_EQ(leaves_[0].physicalPath, (std::vector<std::string>{"w", "start"}));
  EXPECT_EQ(leaves_[1].physicalPath, (std::vector<std::string>{"w", "end"}));
  EXPECT_TRUE(leaves_[2].isPartitionColumn);
  EXPECT_FALSE(leaves_[3].isPartitionColumn);
}

TEST_F(ChangedKeysTest, OldWindowsAreLeftAlone) {
  const std::string first = windows("1970-01-01T00:00:00.000Z", "1970-01-01T00:02:00.000Z");
  EXPECT_TRUE(mayBeIn({{120, "a", 2.0}}, "a", first));
  EXPECT_FALSE(mayBeIn({{180, "a", 2.0}}, "a", first));
  // A straggler does not drag in what lies between.
  const std::string later = windows("1970-01-01T00:10:00.000Z", "1970-01-01T00:20:00.000Z");
  EXPECT_FALSE(mayBeIn({{0, "a", 2.0}, {3000, "a", 2.0}}, "a", later));
  EXPECT_TRUE(mayBeIn({{0, "a", 2.0}, {660, "a", 2.0}}, "a", later));
}

TEST_F(ChangedKeysTest, PartitionsAndNullsAreJudged) {
  const std::string all = windows("1970-01-01T00:00:00.000Z", "1970-01-02T00:00:00.000Z");
  EXPECT_FALSE(mayBeIn({{60, "a", 2.0}}, "b", all));
  EXPECT_FALSE(mayBeIn({{60, "a", 2.0}}, std::nullopt, all));
  EXPECT_TRUE(mayBeIn({{60, std::nullopt, 2.0}}, std::nullopt, all));
  EXPECT_FALSE(mayBeIn({{60, std::nullopt, 2.0}}, "a", all));
  EXPECT_FALSE(mayBeIn({{std::nullopt, "a", 2.0}}, "a", all)) << "the file has no null windows";
  EXPECT_TRUE(mayBeIn({{std::nullopt, "a", 2.0}}, "a", "{}"));
}

TEST_F(ChangedKeysTest, NumbersAreJudgedUnlessTheyHaveNoPlaceInTheOrder) {
  const std::string all = windows("1970-01-01T00:00:00.000Z", "1970-01-02T00:00:00.000Z");
  EXPECT_FALSE(mayBeIn({{60, "a", 5.5}}, "a", all));
  EXPECT_TRUE(mayBeIn({{60, "a", std::nan("")}}, "a", all)) << "other writers' bounds leave NaN out";
  EXPECT_FALSE(mayBeIn({{60, "a", std::numeric_limits<double>::infinity()}}, "a", all));
}

TEST_F(ChangedKeysTest, ManyValuesAreJudgedByTheirRange) {
  ChangedKeys keys(leaves_);
  std::vector<Key> rows;
  for (int64_t i = 0; i < 20'000; ++i) rows.push_back({i * 60, "a", 2.0});
  add(keys, rows);
  keys.finish();
  const auto judge = [&](const std::string& stats) {
    AddFile file;
    file.partitionValues["p"] = "a";
    file.stats = stats;
    return keys.mayBeIn(leafBounds(leaves_, file));
  };
  EXPECT_TRUE(judge(windows("1970-01-05T00:00:00.000Z", "1970-01-05T00:00:00.000Z")));
  EXPECT_FALSE(judge(windows("1970-01-20T00:00:00.000Z", "1970-01-21T00:00:00.000Z")));
}

TEST_F(ChangedKeysTest, AKeyMayComeOnce) {
  ChangedKeys keys(leaves_);
  add(keys, {{0, "a", 1.0}});
  ChangedKeys again = keys;
  keys.merge(std::move(again));
  EXPECT_EQ(conditionOf([&] { keys.finish(); }), "INTERNAL_ERROR");
}

}  // namespace
}  // namespace thalweg::delta
