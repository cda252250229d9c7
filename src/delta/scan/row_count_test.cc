// Rows that a table's log tells of, and logs that do not tell.
#include "delta/scan/row_count.h"

#include <gtest/gtest.h>

namespace thalweg::delta {
namespace {

// Of a table with one file a statistics text, each with a vector of so many rows (0: none).
std::optional<int64_t> countOf(const std::vector<std::pair<std::optional<std::string>, int64_t>>& files) {
  SnapshotBuilder builder({makeMemoryFileSystem(), "/t"});
  builder.apply(Protocol{});
  Metadata metadata;
  metadata.schemaString = R"({"type":"struct","fields":[]})";
  builder.apply(metadata);
  for (size_t i = 0; i < files.size(); ++i) {
    const auto& [stats, deleted] = files[i];
    AddFile add;
    add.path = "f" + std::to_string(i);
    add.stats = stats;
    if (deleted != 0) add.deletionVector = DeletionVector{"u", "x", 1, 1, deleted, {}};
    builder.apply(add);
  }
  builder.endVersion(0, std::nullopt);
  return rowCount(*std::move(builder).finish(0));
}

TEST(RowCount, IsOfTheStatisticsLessWhatVectorsTake) {
  EXPECT_EQ(countOf({}), 0);
  EXPECT_EQ(countOf({{R"({"numRecords":5})", 0}, {R"({"numRecords":7})", 3}}), 9);
  EXPECT_EQ(countOf({{R"({"numRecords":3})", 3}}), 0);
}

TEST(RowCount, IsUnknownWhereAFileDoesNotSay) {
  EXPECT_FALSE(countOf({{R"({"numRecords":5})", 0}, {std::nullopt, 0}}));
  for (const char* stats : {"{}", "", "[]", R"({"numRecords":"5"})", R"({"numRecords":1.5})"})
    EXPECT_FALSE(countOf({{stats, 0}})) << stats;
}

// Numbers that no file can have are not the table's count: its files are read.
TEST(RowCount, IsUnknownWhereAFileSaysWhatCannotBe) {
  EXPECT_FALSE(countOf({{R"({"numRecords":9223372036854775808})", 0}}));
  EXPECT_FALSE(countOf({{R"({"numRecords":18446744073709551615})", 0}, {R"({"numRecords":2})", 0}}));
  EXPECT_FALSE(countOf({{R"({"numRecords":-1})", 0}}));
  EXPECT_FALSE(countOf({{R"({"numRecords":2})", 3}}));
  EXPECT_FALSE(countOf({{R"({"numRecords":2})", -3}}));
  EXPECT_FALSE(countOf({{R"({"numRecords":9223372036854775807})", 0}, {R"({"numRecords":1})", 0}}))
      << "their sum is no long";
}

}  // namespace
}  // namespace thalweg::delta
