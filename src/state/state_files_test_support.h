// A store of each provider in a folder of its own, with versions whose contents are known.
#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/error.h"
#include "state/test_support.h"
#include "types/ddl.h"

namespace thalweg {

namespace fs = std::filesystem;

// A row of one BIGINT column, and so a key or value of the tests' schema.
inline std::string row(int64_t value) {
  std::string bytes(16, '\0');
  std::memcpy(bytes.data() + 8, &value, 8);
  return bytes;
}

inline std::string conditionOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.condition() + (error.text().find("/state/") != std::string::npos ? "" : " without the file");
  }
  return "no error";
}

class StateFilesTest : public ::testing::TestWithParam<StateProvider> {
 protected:
  std::unique_ptr<StateFiles> open(std::string codec = "lz4") const {
    StateFormat format;
    format.keySchema = parseSchemaDdl("k BIGINT");
    format.codec = std::move(codec);
    return openStateFiles(GetParam(), fileSystem_, {root_.path() + "/state", 3, 1, "default"}, format,
                          root_.path() + "/tmp");
  }
  fs::path folder() const { return fs::path(root_.path()) / "state" / "3" / "1"; }
  bool hdfs() const { return GetParam() == StateProvider::HdfsBacked; }
  fs::path changes(int64_t version) const {
    return folder() / (std::to_string(version) + (hdfs() ? ".delta" : ".changelog"));
  }
  fs::path snapshot(int64_t version) const {
    return folder() / (std::to_string(version) + (hdfs() ? ".snapshot" : ".zip"));
  }
  size_t numDataFiles() const {
    if (!fs::exists(folder() / "SSTs")) return 0;
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder() / "SSTs"), fs::directory_iterator()));
  }

  // Versions 1 to last: each puts its own number, and each third removes its predecessor's.
  StateMap writeVersions(StateFiles& files, int64_t last) {
    StateMap state;
    for (int64_t version = 1; version <= last; ++version) {
      const std::string key = row(version), value = row(version * 10), previous = row(version - 1);
      std::vector<StateChange> list = {{StateChange::Kind::Put, key, value}};
      state[key] = value;
      if (version % 3 == 0) {
        list.push_back({StateChange::Kind::Remove, previous, {}});
        state.erase(previous);
      }
      files.writeChanges(version, list);
      byVersion_[version] = state;
    }
    return state;
  }

  static void damage(const fs::path& path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(fs::file_size(path) / 2));
    file.write("\xA5\x5A\xA5\x5A\xA5\x5A\xA5\x5A", 8);
  }

  TestFolder root_;
  std::shared_ptr<FileSystem> fileSystem_ = makeLocalFileSystem();
  std::map<int64_t, StateMap> byVersion_;
};

inline auto bothProviders() {
  return ::testing::Values(StateProvider::HdfsBacked, StateProvider::RocksDb);
}

inline std::string providerName(const ::testing::TestParamInfo<StateProvider>& info) {
  return info.param == StateProvider::RocksDb ? "RocksDb" : "Hdfs";
}

}  // namespace thalweg
