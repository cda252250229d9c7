#include "kvstore/sorted_store.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "common/error.h"
#include "common/uuid.h"

namespace thalweg {
namespace {

namespace fs = std::filesystem;

class SortedStoreTest : public ::testing::Test {
 protected:
  SortedStoreTest() { fs::create_directories(root_); }
  ~SortedStoreTest() override { fs::remove_all(root_); }
  std::string path(const char* name) const { return (root_ / name).string(); }

  static std::vector<std::string> all(const SortedStore& store, std::string_view prefix = "") {
    std::vector<std::string> entries;
    store.forEach(prefix, [&](std::string_view key, std::string_view value) {
      entries.push_back(std::string(key) + "=" + std::string(value));
      return true;
    });
    return entries;
  }

  fs::path root_ = fs::temp_directory_path() / ("sorted_store_" + randomUuid());
};

using Entries = std::vector<std::string>;

TEST_F(SortedStoreTest, EntriesComeInTheOrderOfTheirBytes) {
  const auto store = SortedStore::open(path("db"), {});
  SortedStoreBatch batch;
  batch.put("b1", "2");
  batch.put(std::string_view("a\xFF", 2), "1");
  batch.put("b2", "3");
  batch.put("c", "4");
  store->write(batch);
  batch.clear();
  batch.remove("c");
  store->write(batch);
  EXPECT_EQ(all(*store), (Entries{"a\xFF=1", "b1=2", "b2=3"}));
  EXPECT_EQ(all(*store, "b"), (Entries{"b1=2", "b2=3"}));
  std::string value;
  EXPECT_TRUE(store->get("b2", &value));
  EXPECT_EQ(value, "3");
  EXPECT_FALSE(store->get("c", &value));
}

TEST_F(SortedStoreTest, MergedValuesAreJoinedWithTheDelimiter) {
  for (const std::string delimiter : {",", ""}) {
    SortedStore::Options options;
    options.mergeDelimiter = delimiter;
    const auto store = SortedStore::open(path(delimiter.empty() ? "v2" : "v1"), options);
    SortedStoreBatch batch;
    batch.merge("k", "a");
    batch.merge("k", "b");
    store->write(batch);
    std::string value;
    ASSERT_TRUE(store->get("k", &value));
    EXPECT_EQ(value, "a" + delimiter + "b");
  }
}

TEST_F(SortedStoreTest, ACheckpointStaysAsItWasAndOpensReadOnly) {
  const auto store = SortedStore::open(path("db"), {});
  SortedFileWriter file(path("1.sst"));
  file.put("a", "1");
  file.put("b", "2");
  EXPECT_THROW(file.put("a", "again"), Error);
  file.finish();
  store->ingest({path("1.sst")});
  store->checkpoint(path("cp"));
  SortedStoreBatch batch;
  batch.put("c", "3");
  store->write(batch);
  EXPECT_EQ(all(*store), (Entries{"a=1", "b=2", "c=3"}));
  SortedStore::Options readOnly;
  readOnly.access = SortedStore::Access::ReadOnly;
  EXPECT_EQ(all(*SortedStore::open(path("cp"), readOnly)), (Entries{"a=1", "b=2"}));
}

TEST_F(SortedStoreTest, AMissingFolderIsAnErrorForReaders) {
  SortedStore::Options readOnly;
  readOnly.access = SortedStore::Access::ReadOnly;
  EXPECT_THROW(SortedStore::open(path("nowhere"), readOnly), Error);
}

}  // namespace
}  // namespace thalweg
