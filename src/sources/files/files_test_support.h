// A folder on local disk, and rows read back as text, for the tests of this folder.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <arrow/api.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "common/error.h"
#include "common/testing/condition_of.h"
#include "common/uuid.h"
#include "connector/read.h"

namespace thalweg {

class TemporaryFolder {
 public:
  TemporaryFolder() : path_(std::filesystem::temp_directory_path() / ("thalweg-files-" + randomUuid())) {
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string path(const std::string& name = "") const {
    return name.empty() ? path_.string() : (path_ / name).string();
  }

  // Makes the file, with a modification time of `seconds` since 1970 unless negative.
  std::string write(const std::string& name, const std::string& text, int64_t seconds = -1) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    if (seconds >= 0) setTime(file.string(), seconds);
    return file.string();
  }
  static void setTime(const std::string& file, int64_t seconds) {
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
  }

 private:
  std::filesystem::path path_;
};

// Every row as its columns' text, split by split, in order.
inline std::vector<std::string> readRows(const std::vector<SplitPtr>& splits,
                                         const std::vector<int>& columns) {
  std::vector<std::string> rows;
  ReadRequest request;
  request.columns = columns;
  for (const SplitPtr& split : splits) {
    const auto reader = split->open(request);
    while (const auto batch = reader->next()) {
      EXPECT_TRUE(batch->ValidateFull().ok());
      for (int64_t row = 0; row < batch->num_rows(); ++row) {
        std::string text;
        for (const auto& column : batch->columns()) {
          text += (text.empty() ? "" : " ") + column->GetScalar(row).ValueOrDie()->ToString();
        }
        rows.push_back(text);
      }
    }
  }
  return rows;
}

}  // namespace thalweg
