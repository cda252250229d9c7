#include "storage/temporary_names.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

TEST(TemporaryNames, AreHiddenBesideTheirFileAndDiffer) {
  const std::string name = temporaryNameFor("/c/offsets/7");
  EXPECT_TRUE(name.starts_with("/c/offsets/.7.")) << name;
  EXPECT_NE(name, temporaryNameFor("/c/offsets/7"));
  EXPECT_TRUE(isTemporaryName(name.substr(name.rfind('/') + 1)));
}

TEST(TemporaryNames, AreToldFromOthers) {
  // As Spark's CheckpointFileManager names them.
  EXPECT_TRUE(isTemporaryName(".0.1b4e28ba-2fa1-11d2-883f-0016d3cca427.tmp"));
  EXPECT_TRUE(isTemporaryName(".00000000000000000003.json.1b4e28ba-2fa1-11d2-883f-0016d3cca427.tmp"));
  for (const char* other :
       {"", ".", ".tmp", "..tmp", ".3.delta.tmp", ".3.delta.crc",
        "3.1b4e28ba-2fa1-11d2-883f-0016d3cca427.tmp", "..1b4e28ba-2fa1-11d2-883f-0016d3cca427.tmp",
        ".1b4e28ba-2fa1-11d2-883f-0016d3cca427.tmp", ".3.1b4e28ba-2fa1-11d2-883f-0016d3cca42g.tmp",
        ".3.1b4e28ba-2fa1-11d2-883f-0016d3cca427", ".3-1b4e28ba-2fa1-11d2-883f-0016d3cca427.tmp"}) {
    EXPECT_FALSE(isTemporaryName(other)) << other;
  }
}

TEST(TemporaryNames, OnlyThoseOfDeadWritersGo) {
  const auto files = makeMemoryFileSystem();
  const std::string old = "/c/.7.1b4e28ba-2fa1-11d2-883f-0016d3cca427.tmp",
                    young = "/c/.8.1b4e28ba-2fa1-11d2-883f-0016d3cca427.tmp";
  for (const std::string& path : {old, young, std::string("/c/7")}) files->writeAtomically(path, "x");
  std::vector<FileInfo> entries = files->list("/c");
  constexpr int64_t kNow = 1'700'000'000'000, kDay = 86'400'000;
  for (FileInfo& entry : entries)
    entry.modificationTimeMs = entry.path == young ? kNow - kDay + 1 : kNow - kDay;
  removeAbandonedFiles(*files, entries, kNow);
  EXPECT_FALSE(files->stat(old));
  EXPECT_TRUE(files->stat(young));
  EXPECT_TRUE(files->stat("/c/7"));
}

}  // namespace
}  // namespace thalweg
