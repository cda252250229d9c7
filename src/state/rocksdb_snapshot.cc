#include "state/rocksdb_snapshot.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/uuid.h"
#include "state/zip_archive.h"
#include "storage/storage_error.h"

namespace thalweg {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMetadataName = "metadata";
constexpr std::string_view kVersionLine = "v1\n";
// A MANIFEST grows with the number of data files; this is room for a million of them.
constexpr size_t kMaxZipContents = 256 << 20;
constexpr int64_t kCopyBytes = 4 << 20;

[[noreturn]] void throwCorrupt(const std::string& reason) {
  throw Error("STATE_STORE_CHECKPOINT_CORRUPT", reason);
}

// Names come from foreign files: none may lead out of its folder.
void checkName(const std::string& name) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos) {
    throwCorrupt("it names a file \"" + name + "\"");
  }
}

std::string dataFilePath(const std::string& storeFolder, const std::string& storedName) {
  return storeFolder + "/SSTs/" + storedName;
}

[[noreturn]] void throwUnwritable(const fs::path& path) {
  throw Error("STORAGE_FAILURE", "The file " + path.string() + " could not be written.",
              {{"path", path.string()}});
}

void writeLocal(const fs::path& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) throwUnwritable(path);
}

void writeAll(int file, const uint8_t* bytes, int64_t size, const fs::path& path) {
  while (size > 0) {
    const ssize_t written = ::write(file, bytes, static_cast<size_t>(size));
    if (written < 0 && errno != EINTR) throwUnwritable(path);
    if (written <= 0) continue;
    bytes += written;
    size -= written;
  }
}

// The target must be new: whatever has its name, a link into the checkpoint above all, is not written
// through.
void copyToLocal(FileSystem& fileSystem, const std::string& path, const fs::path& target) {
  const auto input = fileSystem.openInput(path);
  const int file = ::open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) throwUnwritable(target);
  try {
    for (int64_t position = 0;;) {
      const auto read = input->ReadAt(position, kCopyBytes);
      throwIfStorageFailed(read.status(), "read", path);
      const std::shared_ptr<arrow::Buffer>& piece = *read;
      if (piece->size() == 0) break;
      writeAll(file, piece->data(), piece->size(), target);
      position += piece->size();
    }
  } catch (...) {
    ::close(file);
    throw;
  }
  if (::close(file) != 0) throwUnwritable(target);
}

// False where the folder's file system has no links.
bool linkTo(const std::string& path, const fs::path& link) {
  if (::symlink(path.c_str(), link.c_str()) == 0) return true;
  if (errno != EPERM && errno != EOPNOTSUPP) throwUnwritable(link);
  return false;
}

[[noreturn]] void throwUnreadable(const fs::path& path) {
  throw Error("STORAGE_FAILURE", "The file " + path.string() + " could not be read.",
              {{"path", path.string()}});
}

int64_t sizeOf(const fs::path& path) {
  std::error_code failure;
  const auto size = fs::file_size(path, failure);
  if (failure) throwUnreadable(path);
  return static_cast<int64_t>(size);
}

// Hands all bytes of a file to `take`, and checks that they are as many as the file has: what is published of
// it is not read again before a restart.
template <typename Take>
int64_t readLocal(const fs::path& path, const Take& take) {
  const int64_t size = sizeOf(path);
  std::ifstream in(path, std::ios::binary);
  std::string piece(static_cast<size_t>(std::min(size, kCopyBytes)), '\0');
  int64_t done = 0;
  while (in && done < size) {
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    take(std::string_view(piece.data(), static_cast<size_t>(in.gcount())));
    done += in.gcount();
  }
  if (done != size) throwUnreadable(path);
  return size;
}

int64_t putLocal(FileSystem& fileSystem, const fs::path& source, const std::string& path) {
  const auto output = fileSystem.openOutput(path);
  const int64_t size = readLocal(source, [&](std::string_view bytes) {
    throwIfStorageFailed(output->Write(bytes.data(), static_cast<int64_t>(bytes.size())), "write", path);
  });
  throwIfStorageFailed(output->Close(), "close", path);
  return size;
}

}  // namespace

SnapshotMetadata parseSnapshotMetadata(std::string_view text) {
  if (!text.starts_with(kVersionLine)) throwCorrupt("its metadata has another version than v1");
  const nlohmann::json json = nlohmann::json::parse(text.substr(kVersionLine.size()), nullptr, false);
  if (!json.is_object()) throwCorrupt("its metadata is no JSON object");
  try {
    if (json.contains("columnFamilyMapping") && !json.at("columnFamilyMapping").empty()) {
      throw unsupported("State stores with column families (transformWithState, join state format 3)");
    }
    if (json.contains("logFiles") && !json.at("logFiles").empty())
      throw unsupported("RocksDB snapshots with write-ahead logs");
    SnapshotMetadata metadata;
    std::set<std::string> localNames;
    metadata.numKeys = json.value("numKeys", int64_t{-1});
    for (const nlohmann::json& file : json.at("sstFiles")) {
      SnapshotMetadata::DataFile data{file.at("localFileName"), file.at("dfsSstFileName"),
                                      file.at("sizeBytes")};
      checkName(data.localName);
      checkName(data.storedName);
      if (!localNames.insert(data.localName).second)
        throwCorrupt("it names the data file \"" + data.localName + "\" twice");
      metadata.dataFiles.push_back(std::move(data));
    }
    return metadata;
  } catch (const nlohmann::json::exception&) {
    throwCorrupt("its metadata lacks what a snapshot needs");
  }
}

std::string formatSnapshotMetadata(const SnapshotMetadata& metadata) {
  using Json = nlohmann::ordered_json;
  Json files = Json::array();
  for (const SnapshotMetadata::DataFile& file : metadata.dataFiles) {
    files.push_back({{"localFileName", file.localName},
                     {"dfsSstFileName", file.storedName},
                     {"sizeBytes", file.sizeBytes}});
  }
  const Json json = {{"sstFiles", files},
                     {"numKeys", metadata.numKeys},
                     {"numInternalKeys", 0},
                     {"columnFamilyMapping", Json::object()},
                     {"columnFamilyTypeMap", Json::object()},
                     {"maxColumnFamilyId", 0}};
  return std::string(kVersionLine) + json.dump();
}

SnapshotMetadata readSnapshotMetadata(FileSystem& fileSystem, const std::string& zipPath) {
  const ZipEntries entries = readZip(fileSystem.readAll(zipPath), kMaxZipContents);
  const auto metadata = entries.find(kMetadataName);
  if (metadata == entries.end()) throwCorrupt("it has no metadata");
  return parseSnapshotMetadata(metadata->second);
}

void unpackSnapshot(FileSystem& fileSystem, const std::string& storeFolder, const std::string& zipPath,
                    const std::string& target) {
  const ZipEntries entries = readZip(fileSystem.readAll(zipPath), kMaxZipContents);
  const auto found = entries.find(kMetadataName);
  if (found == entries.end()) throwCorrupt("it has no metadata");
  const SnapshotMetadata metadata = parseSnapshotMetadata(found->second);
  for (const SnapshotMetadata::DataFile& file : metadata.dataFiles) {
    if (entries.contains(file.localName))
      throwCorrupt("it has the data file \"" + file.localName + "\" twice");
  }
  for (const auto& [name, contents] : entries) {
    checkName(name);
    if (name != kMetadataName) writeLocal(fs::path(target) / name, contents);
  }
  const bool local = fileSystem.uriOf("/").starts_with("file:");
  for (const SnapshotMetadata::DataFile& file : metadata.dataFiles) {
    const std::string path = dataFilePath(storeFolder, file.storedName);
    const std::optional<FileInfo> info = fileSystem.stat(path);
    if (!info) throwCorrupt("its data file " + path + " does not exist");
    if (info->sizeBytes != file.sizeBytes) {
      throwCorrupt("its data file " + path + " has " + std::to_string(info->sizeBytes) +
                   " bytes instead of " + std::to_string(file.sizeBytes));
    }
    const fs::path link = fs::path(target) / file.localName;
    if (!local || !linkTo(path, link)) copyToLocal(fileSystem, path, link);
  }
}

std::string packSnapshot(FileSystem& fileSystem, const std::string& storeFolder, const std::string& source,
                         int64_t numKeys) {
  SnapshotMetadata metadata;
  metadata.numKeys = numKeys;
  ZipEntries entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(source)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() == ".sst") {
      SnapshotMetadata::DataFile file{name, entry.path().stem().string() + "-" + randomUuid() + ".sst"};
      file.sizeBytes = putLocal(fileSystem, entry.path(), dataFilePath(storeFolder, file.storedName));
      metadata.dataFiles.push_back(std::move(file));
    } else if (name == "CURRENT" || name.starts_with("MANIFEST-") || name.starts_with("OPTIONS-")) {
      std::string& contents = entries[name];
      readLocal(entry.path(), [&](std::string_view bytes) { contents += bytes; });
      if (contents.empty()) throwUnreadable(entry.path());
    }
  }
  if (!entries.contains("CURRENT")) throwUnreadable(fs::path(source) / "CURRENT");
  entries[std::string(kMetadataName)] = formatSnapshotMetadata(metadata);
  return writeZip(entries);
}

}  // namespace thalweg
