#include "exec/operators/spread_rows.h"

#include <arrow/api.h>
#include <arrow/compute/initialize.h>
#include <gtest/gtest.h>

namespace thalweg {
namespace {

std::shared_ptr<arrow::RecordBatch> row(int64_t value) {
  arrow::Int64Builder builder;
  EXPECT_TRUE(builder.Append(value).ok());
  return arrow::RecordBatch::Make(arrow::schema({arrow::field("id", arrow::int64())}), 1,
                                  {builder.Finish().ValueOrDie()});
}

// What other tasks hold fills the memory: a task whose rows come one at a time writes them together.
TEST(SpreadRowsTest, FewRowsAreNotWrittenOneByOne) {
  ASSERT_TRUE(arrow::compute::Initialize().ok());
  constexpr int64_t kMemory = 1 << 20;
  std::atomic<int64_t> held = 2 * kMemory;
  SpreadRows rows(row(0)->schema(), 2, kMemory, &held);
  const std::vector<int32_t> first = {0};
  for (int64_t i = 0; i < 100; ++i) rows.add(row(i), first);
  rows.finish();
  EXPECT_EQ(held, 2 * kMemory);  // all of ours are on disk
  ASSERT_EQ(rows.numBatches(0), 1);
  const auto batch = rows.batch(0, 0);
  ASSERT_EQ(batch->num_rows(), 100);
  for (int64_t i = 0; i < 100; ++i)
    EXPECT_EQ(static_cast<const arrow::Int64Array&>(*batch->column(0)).Value(i), i);
}

}  // namespace
}  // namespace thalweg
