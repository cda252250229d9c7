#include "delta/scan/deletion_vector.h"

#include <vector>

#include <arrow/array.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "common/testing/condition_of.h"
#include "delta/scan/z85.h"

namespace thalweg::delta {
namespace {

std::string bytesOf(std::initializer_list<int> values) {
  std::string bytes;
  for (const int value : values) bytes += static_cast<char>(value);
  return bytes;
}

// magic, one part of key 0, and an array container of the rows 1, 3 and 4 (cookie 12346, one container,
// offset 16).
std::string threeRows() {
  return bytesOf({0xD1, 0xD3, 0x39, 0x64, 1, 0, 0, 0, 0, 0,  0, 0, 0, 0, 0, 0, 0x3A, 0x30, 0,
                  0,    1,    0,    0,    0, 0, 0, 2, 0, 16, 0, 0, 0, 1, 0, 3, 0,    4,    0});
}

TEST(Z85, DecodesTheRfcsExample) {
  EXPECT_EQ(decodeZ85("HelloWorld"), bytesOf({0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B}));
  EXPECT_FALSE(decodeZ85("Hello1"));
  EXPECT_FALSE(decodeZ85("Hell~"));
  EXPECT_EQ(decodeZ85("#####"), bytesOf({0x08, 0x78, 0x0E, 0xC4}))
      << "more than 32 bits: the upper ones are dropped";
}

TEST(Z85, EncodesTheRfcsExampleAndPadsWithZeros) {
  EXPECT_EQ(encodeZ85(bytesOf({0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B})), "HelloWorld");
  EXPECT_EQ(encodeZ85(bytesOf({0x86})), encodeZ85(bytesOf({0x86, 0, 0, 0})));
  EXPECT_EQ(encodeZ85(""), "");
}

TEST(DeletionVector, IsWrittenAsItIsRead) {
  EXPECT_EQ(DeletedRows::none()->with(std::vector<int64_t>{4, 1, 3, 1})->serialize(), threeRows());
  EXPECT_EQ(DeletedRows::parse(threeRows())->serialize(), threeRows());
}

TEST(DeletionVector, GrowsWithoutChangingTheOneBefore) {
  const auto before = DeletedRows::parse(threeRows());
  // Beyond 32 bits another bitmap begins; 5000 in a row make a run.
  std::vector<int64_t> more = {2, 3, int64_t{1} << 32, (int64_t{5} << 32) + 7};
  for (int64_t row = 100'000; row < 105'000; ++row) more.push_back(row);
  const auto after = DeletedRows::parse(before->with(more)->serialize());
  EXPECT_EQ(before->cardinality(), 3);
  EXPECT_EQ(after->cardinality(), 3 + 3 + 5000);
  for (const int64_t row : more) EXPECT_TRUE(after->contains(row)) << row;
  EXPECT_TRUE(after->contains(1));
  EXPECT_FALSE(after->contains(105'000));
  EXPECT_FALSE(after->contains(7));
  EXPECT_LT(after->serialize().size(), 200u);
}

TEST(DeletionVector, GivesTheLiveRows) {
  const auto rows = DeletedRows::parse(threeRows());
  EXPECT_EQ(rows->cardinality(), 3);
  EXPECT_TRUE(rows->contains(3));
  EXPECT_FALSE(rows->contains(2));
  const auto live = rows->liveRows(2, 4);
  ASSERT_TRUE(live);
  EXPECT_EQ(live->ToString(), "[\n  0,\n  3\n]");
  EXPECT_FALSE(rows->liveRows(5, 100));
}

TEST(DeletionVector, GivesItsOwnRowsAndDifferences) {
  const int64_t few[] = {1, 5, int64_t{7} << 32};
  const int64_t more[] = {5, int64_t{9} << 32};
  const auto left = DeletedRows::none()->with(few);
  const auto right = DeletedRows::none()->with(more);
  EXPECT_EQ(left->rowsWithin(0, 6), (std::vector<int64_t>{1, 5}));
  EXPECT_EQ(left->rowsWithin(2, 3), (std::vector<int64_t>{}));
  EXPECT_EQ(left->without(*right)->rows(), (std::vector<int64_t>{1, int64_t{7} << 32}));
  EXPECT_EQ(left->without(*left)->cardinality(), 0);
}

TEST(DeletionVector, CutAndTwistedBytesAreErrors) {
  const std::string whole = threeRows();
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_EQ(conditionOf([&] { DeletedRows::parse(std::string_view(whole).substr(0, length)); }),
              "DELTA_DELETION_VECTOR_INVALID");
  }
  std::string unordered = whole;
  std::swap(unordered[32], unordered[34]);
  EXPECT_EQ(conditionOf([&] { DeletedRows::parse(unordered); }), "DELTA_DELETION_VECTOR_INVALID");
}

TEST(DeletionVector, IsCheckedAgainstTheLogAndItsFile) {
  const auto store = makeMemoryFileSystem();
  const Location table{store, "/t"};
  const AddressResolver none = [](std::string_view) -> Location { throw internalError("not asked"); };
  // 16 zero bytes of the UUID are 20 zeros in base 85. Size and checksum are big-endian.
  const std::string blob = threeRows();
  const std::string checksum = bytesOf({0, 0, 0, 0});
  store->writeAtomically("/t/deletion_vector_00000000-0000-0000-0000-000000000000.bin",
                         bytesOf({1, 0, 0, 0, static_cast<int>(blob.size())}) + blob + checksum);
  DeletionVector vector{"u", std::string(20, '0'), 1, static_cast<int32_t>(blob.size()), 3, std::nullopt};
  EXPECT_EQ(conditionOf([&] { readDeletionVector(table, vector, none); }),
            "DELTA_DELETION_VECTOR_CHECKSUM_MISMATCH");
  vector.sizeInBytes -= 4;
  EXPECT_EQ(conditionOf([&] { readDeletionVector(table, vector, none); }),
            "DELTA_DELETION_VECTOR_SIZE_MISMATCH");
  vector.pathOrInlineDv = "../" + std::string(20, '0');
  EXPECT_EQ(conditionOf([&] { readDeletionVector(table, vector, none); }), "DELTA_DELETION_VECTOR_INVALID");
}

}  // namespace
}  // namespace thalweg::delta
