// Handing over a plan's batches: in order, bounded, stoppable.
#include "exec/pipeline/execution.h"

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "types/arrow_result.h"

namespace thalweg {
namespace {

constexpr int64_t kRows = 65536;  // of 8 bytes: half a megabyte a batch

// Batches of one value, partition · 1000 + its number, counted as they are made.
class CountingOperator final : public RunningOperator {
 public:
  CountingOperator(int partitions, int batches) : partitions_(partitions), batches_(batches) {}
  int numPartitions() const override { return partitions_; }
  std::unique_ptr<BatchReader> open(int partition) override { return std::make_unique<Reader>(*this, partition); }
  int made() const { return made_; }

 private:
  class Reader final : public BatchReader {
   public:
    Reader(CountingOperator& owner, int partition) : owner_(owner), partition_(partition) {}
    std::shared_ptr<arrow::RecordBatch> next() override {
      if (next_ == owner_.batches_) return nullptr;
      ++owner_.made_;
      arrow::Int64Builder builder;
      for (int64_t i = 0; i < kRows; ++i) throwIfFailed(builder.Append(partition_ * 1000 + next_));
      ++next_;
      return arrow::RecordBatch::Make(arrow::schema({arrow::field("v", arrow::int64())}), kRows, {valueOrThrow(builder.Finish())});
    }

   private:
    CountingOperator& owner_;
    int partition_;
    int next_ = 0;
  };
  int partitions_;
  int batches_;
  std::atomic<int> made_ = 0;
};

int64_t valueOf(const arrow::RecordBatch& batch) { return static_cast<const arrow::Int64Array&>(*batch.column(0)).Value(0); }

TEST(ForEachBatch, HandsOverAllInOrderAndHoldsFew) {
  TaskPool pool(2);
  Execution execution;
  execution.pool = &pool;
  CountingOperator running(7, 60);
  std::vector<int64_t> values;
  int most = 0;
  forEachBatch(running, execution, [&](const auto& batch) {
    values.push_back(valueOf(*batch));
    most = std::max(most, running.made() - static_cast<int>(values.size()));
  });
  ASSERT_EQ(values.size(), 420u);
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<int64_t>(i / 60 * 1000 + i % 60));
  // Four partitions of 4 MB are read ahead: 36 of 420 batches, were each just past its bound.
  EXPECT_LE(most, 36);
}

TEST(ForEachBatch, StopsWhereTheConsumerFails) {
  TaskPool pool(2);
  Execution execution;
  execution.pool = &pool;
  CountingOperator running(100, 100);
  EXPECT_THROW(forEachBatch(running, execution, [](const auto&) { throw Error("INTERNAL_ERROR", "the client is gone"); }), Error);
  EXPECT_LE(running.made(), 36);
}

TEST(ForEachBatch, TakesAPlanWithoutPartitionsOrRows) {
  TaskPool pool(2);
  Execution execution;
  execution.pool = &pool;
  int calls = 0;
  for (auto [partitions, batches] : {std::pair{0, 0}, std::pair{50, 0}}) {
    CountingOperator running(partitions, batches);
    forEachBatch(running, execution, [&](const auto&) { ++calls; });
  }
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace thalweg
