#include "cli/checkpoint.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "common/error.h"
#include "common/uuid.h"

namespace thalweg::cli {
namespace {

namespace fs = std::filesystem;

class CheckpointCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const fs::path fixtures = fs::path(THALWEG_SHARED_DIR) / "testdata" / "spark-checkpoints";
    if (!fs::exists(fixtures)) GTEST_SKIP() << "no shared test data";
    fs::copy(fixtures / "windowed-rocksdb-changelog" / "checkpoint", copy_, fs::copy_options::recursive);
  }
  ~CheckpointCommandTest() override { fs::remove_all(copy_); }

  int run(bool verify, std::string* printed) const {
    testing::internal::CaptureStdout();
    const int status = runCheckpoint({copy_.string(), verify});
    std::fflush(stdout);
    *printed = testing::internal::GetCapturedStdout();
    return status;
  }

  fs::path copy_ = fs::temp_directory_path() / ("checkpoint_test_" + randomUuid());
};

TEST_F(CheckpointCommandTest, ShowsBatchesOperatorsAndVersions) {
  std::string printed;
  EXPECT_EQ(run(false, &printed), 0) << printed;
  EXPECT_NE(printed.find("planned up to 9, committed up to 9"), std::string::npos) << printed;
  EXPECT_NE(printed.find("operator 0 stateStoreSave"), std::string::npos);
  EXPECT_NE(printed.find("store default, 2 partitions"), std::string::npos);
  EXPECT_NE(printed.find("partition 1: version 10, newest snapshot 10"), std::string::npos);
  EXPECT_NE(printed.find("watermark  2026-"), std::string::npos) << printed;
  EXPECT_TRUE(printed.ends_with("no problem seen\n")) << printed;
}

TEST_F(CheckpointCommandTest, VerifyFindsTheFileThatIsMissing) {
  std::string printed;
  EXPECT_EQ(run(true, &printed), 0) << printed;
  fs::remove(copy_ / "state/0/1/10.zip");
  EXPECT_EQ(run(true, &printed), 0) << "the change files are all there: " << printed;
  fs::remove(copy_ / "state/0/1/4.changelog");
  EXPECT_EQ(run(true, &printed), 1);
  EXPECT_NE(printed.find("problem: "), std::string::npos);
  EXPECT_NE(printed.find("state/0/1/4.changelog"), std::string::npos) << printed;
  EXPECT_TRUE(printed.ends_with("1 problem found, named above\n")) << printed;
}

TEST_F(CheckpointCommandTest, StateBehindTheCommitsIsAProblem) {
  for (const char* file : {"10.zip", "10.changelog"}) fs::remove(copy_ / "state/0/0" / file);
  std::string printed;
  EXPECT_EQ(run(false, &printed), 1);
  EXPECT_NE(printed.find("the next batch needs 10"), std::string::npos) << printed;
}

TEST_F(CheckpointCommandTest, CommitsThatAreGoneAreAProblem) {
  fs::remove_all(copy_ / "commits");
  fs::create_directories(copy_ / "commits");
  std::string printed;
  EXPECT_EQ(run(true, &printed), 1);
  EXPECT_NE(printed.find("are not committed"), std::string::npos) << printed;
}

// Without the operator's metadata, as Spark 3.5 writes none, the offset log says how many partitions there
// are.
TEST_F(CheckpointCommandTest, ANumberOfPartitionsThatIsNoneIsAProblem) {
  fs::remove_all(copy_ / "state/0/_metadata");
  std::ifstream in(copy_ / "offsets/9");
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::string key = "\"spark.sql.shuffle.partitions\":\"";
  const size_t at = text.find(key);
  ASSERT_NE(at, std::string::npos) << text;
  text.replace(at + key.size(), text.find('"', at + key.size()) - at - key.size(), "4294967304");
  std::ofstream(copy_ / "offsets/9") << text;
  std::string printed;
  EXPECT_EQ(run(true, &printed), 1);
  EXPECT_NE(printed.find("4294967304"), std::string::npos) << printed;
}

TEST_F(CheckpointCommandTest, AFolderWithoutACheckpointIsAnErrorAndStaysAsItIs) {
  const fs::path empty = copy_ / "sources";
  EXPECT_THROW(runCheckpoint({empty.string(), false}), Error);
  EXPECT_FALSE(fs::exists(empty / "metadata"));
}

}  // namespace
}  // namespace thalweg::cli
