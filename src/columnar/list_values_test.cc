#include "columnar/list_values.h"

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "types/arrow_result.h"

namespace thalweg {
namespace {

// [1, 2], null, [3], [4, 5]
std::shared_ptr<arrow::Array> lists() {
  arrow::ListBuilder builder(arrow::default_memory_pool(), std::make_shared<arrow::Int32Builder>());
  auto& values = static_cast<arrow::Int32Builder&>(*builder.value_builder());
  throwIfFailed(builder.Append());
  throwIfFailed(values.AppendValues({1, 2}));
  throwIfFailed(builder.AppendNull());
  throwIfFailed(builder.Append());
  throwIfFailed(values.Append(3));
  throwIfFailed(builder.Append());
  throwIfFailed(values.AppendValues({4, 5}));
  return valueOrThrow(builder.Finish());
}

std::string valuesOf(const arrow::Array& array) {
  std::string text;
  const auto& values = static_cast<const arrow::Int32Array&>(*static_cast<const arrow::ListArray&>(array).values());
  for (int64_t i = 0; i < values.length(); ++i) text += std::to_string(values.Value(i)) + " ";
  return text;
}

TEST(WithUsedValuesOnly, LeavesWholeListsAsTheyAre) {
  const auto whole = lists();
  EXPECT_EQ(withUsedValuesOnly(whole, arrow::default_memory_pool()), whole);
}

TEST(WithUsedValuesOnly, CutsWhatLiesOutsideASlice) {
  const auto slice = lists()->Slice(1, 2);
  const auto used = withUsedValuesOnly(slice, arrow::default_memory_pool());
  EXPECT_TRUE(used->ValidateFull().ok());
  EXPECT_TRUE(used->Equals(slice));
  EXPECT_EQ(valuesOf(*used), "3 ");
  EXPECT_EQ(valuesOf(*withUsedValuesOnly(lists()->Slice(0, 0), arrow::default_memory_pool())), "");
}

TEST(WithUsedValuesOnly, DropsWhatANullHides) {
  const auto data = lists()->data()->Copy();
  data->buffers[0] = valueOrThrow(arrow::AllocateBuffer(1));
  data->buffers[0]->mutable_data()[0] = 0b1001;  // [1, 2] and [4, 5] are left
  data->null_count = arrow::kUnknownNullCount;
  const auto used = withUsedValuesOnly(arrow::MakeArray(data), arrow::default_memory_pool());
  EXPECT_TRUE(used->ValidateFull().ok());
  EXPECT_EQ(valuesOf(*used), "1 2 4 5 ");
  EXPECT_EQ(used->null_count(), 2);
}

}  // namespace
}  // namespace thalweg
