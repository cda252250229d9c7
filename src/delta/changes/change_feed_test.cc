// What a commit's actions mean as changes of rows.
#include "delta/changes/change_feed.h"

#include <gtest/gtest.h>

#include "common/testing/condition_of.h"

namespace thalweg::delta {
namespace {

std::vector<ChangedFile> changesOf(const FileAction& action, bool partitioned) {
  CommitChanges commit;
  commit.version = 3;
  commit.files = {action};
  return changedFiles(commit, commit.files, 1000, partitioned);
}

// Old writers leave extendedFileMetadata out, and the partition with it: which rows went cannot be told, and
// null is a partition of its own.
TEST(ChangeFeed, ARemoveThatDoesNotSayItsPartitionIsRefusedWhereThereArePartitions) {
  RemoveFile remove;
  remove.path = "f";
  EXPECT_EQ(conditionOf([&] { changesOf(remove, true); }), "DELTA_REMOVE_FILE_CDC_MISSING_EXTENDED_METADATA");
  remove.partitionValues.emplace();
  EXPECT_EQ(conditionOf([&] { changesOf(remove, true); }), "DELTA_REMOVE_FILE_CDC_MISSING_EXTENDED_METADATA");
  const auto changes = changesOf(remove, false);
  ASSERT_EQ(changes.size(), 1u) << "without partitions nothing is missing";
  EXPECT_EQ(changes[0].changeType, "delete");
  EXPECT_EQ(changes[0].version, 3);
  EXPECT_EQ(changes[0].timestampMs, 1000);
  remove.partitionValues = PartitionValues{{"p", std::nullopt}};
  EXPECT_EQ(changesOf(remove, true).size(), 1u) << "null where it says so";
}

}  // namespace
}  // namespace thalweg::delta
