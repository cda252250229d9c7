#include "sources/rate/rate_source.h"

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "common/error.h"

namespace thalweg {
namespace {

class TickingClock final : public Clock {
 public:
  int64_t nowMicros() const override { return millis * 1000; }
  std::chrono::steady_clock::time_point monotonic() const override { return {}; }
  int64_t millis = 1'700'000'000'123;
};

class RateSourceTest : public testing::Test {
 protected:
  RateSourceTest() {
    context_.metadataFolder = {files_, "/c/sources/0"};
    context_.clock = &clock_;
  }
  using Rows = std::vector<std::pair<int64_t, int64_t>>;
  static Rows read(const std::vector<SplitPtr>& splits) {
    Rows rows;
    ReadRequest request;
    request.columns = {0, 1};
    for (const SplitPtr& split : splits) {
      const auto reader = split->open(request);
      while (const auto batch = reader->next()) {
        const auto& times = static_cast<const arrow::TimestampArray&>(*batch->column(0));
        const auto& values = static_cast<const arrow::Int64Array&>(*batch->column(1));
        for (int64_t i = 0; i < batch->num_rows(); ++i) rows.emplace_back(values.Value(i), times.Value(i));
      }
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }
  std::shared_ptr<FileSystem> files_ = makeMemoryFileSystem();
  TickingClock clock_;
  StreamSourceContext context_;
};

// The values in Spark's own comment on its formula: ramp up of 4 s to 10 rows a second.
TEST(RateValue, RampsUpAsSpark) {
  const int64_t expected[] = {0, 2, 6, 12, 20, 30, 40};
  for (int64_t second = 0; second <= 6; ++second) EXPECT_EQ(rateValueAtSecond(second, 10, 4), expected[second]) << second;
  EXPECT_EQ(rateValueAtSecond(7, 3, 0), 21);
}

TEST_F(RateSourceTest, OffsetsAreSecondsAndTheStartIsKept) {
  const auto source = openRateStream(Options{{"rowsPerSecond", "5"}}, context_);
  EXPECT_EQ(source->description(), "RateStreamV2[rowsPerSecond=5, rampUpTimeSeconds=0, numPartitions=default");
  EXPECT_EQ(source->initialOffset(), "0");
  EXPECT_EQ(files_->readAll("/c/sources/0/0"), "v1\n1700000000123");
  EXPECT_EQ(source->latestOffset("0", false), "0");
  clock_.millis += 2999;
  EXPECT_EQ(source->latestOffset("0", false), "2");
  clock_.millis -= 5000;
  EXPECT_EQ(source->latestOffset("2", false), "2");
}

TEST_F(RateSourceTest, WhatNoTimestampHoldsIsRefused) {
  const auto condition = [](const std::function<void()>& action) -> std::string {
    try {
      action();
    } catch (const Error& error) {
      return error.condition();
    }
    return "none";
  };
  const auto source = openRateStream(Options{}, context_);
  EXPECT_EQ(condition([&] { source->plan("9223372036854775000", "9223372036854775807"); }), "ARITHMETIC_OVERFLOW");
  EXPECT_EQ(condition([&] { source->plan("9223372036000", "9223372036854"); }), "ARITHMETIC_OVERFLOW");
  EXPECT_EQ(condition([&] { openRateStream(Options{{"numPartitions", "9223372036854775807"}}, context_); }), "INVALID_OPTION");
  EXPECT_EQ(condition([&] { openRateStream(Options{{"rampUpTime", "9223372036854775807"}}, context_); }), "ARITHMETIC_OVERFLOW");
  files_->writeAtomically("/d/0", "v1\n-9223372036854775808");
  context_.metadataFolder = {files_, "/d"};
  EXPECT_EQ(condition([&] { openRateStream(Options{}, context_)->latestOffset("0", false); }), "INVALID_OPTION");
}

TEST_F(RateSourceTest, RowsAreSpreadOverTheSecondsAndRepeatable) {
  const auto source = openRateStream(Options{{"rowsPerSecond", "4"}, {"numPartitions", "3"}}, context_);
  const auto splits = source->plan("1", "2");
  EXPECT_EQ(splits.size(), 3u);
  const int64_t second = 1'700'000'001'123'000;
  const Rows expected = {{4, second}, {5, second + 250'000}, {6, second + 500'000}, {7, second + 750'000}};
  EXPECT_EQ(read(splits), expected);
  clock_.millis += 100'000;
  EXPECT_EQ(read(openRateStream(Options{{"rowsPerSecond", "4"}}, context_)->plan("1", "2")), expected);
  EXPECT_TRUE(source->plan("2", "2").empty());
}

TEST_F(RateSourceTest, BadOptionsAndForeignCheckpointsAreRefused) {
  EXPECT_THROW(openRateStream(Options{{"rowsPerSecond", "0"}}, context_), Error);
  EXPECT_THROW(openRateStream(Options{{"numPartitions", "-1"}}, context_), Error);
  EXPECT_THROW(openRateStream(Options{{"rampUpTime", "soon"}}, context_), Error);
  EXPECT_THROW(openRateStream(Options{}, context_)->plan("0", "{}"), Error);
  files_->writeAtomically("/c/sources/0/0", "v9\n1");
  EXPECT_THROW(openRateStream(Options{}, context_)->initialOffset(), Error);
}

}  // namespace
}  // namespace thalweg
