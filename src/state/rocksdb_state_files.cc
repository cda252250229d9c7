#include "state/rocksdb_state_files.h"

#include <cstring>
#include <filesystem>
#include <set>

#include "columnar/binary_row.h"
#include "common/error.h"
#include "common/logging.h"
#include "common/uuid.h"
#include "kvstore/sorted_store.h"
#include "state/change_records.h"
#include "state/rocksdb_snapshot.h"

namespace thalweg {
namespace {

namespace fs = std::filesystem;

constexpr char kEncodingVersion = 0;
constexpr std::string_view kVersionByte(&kEncodingVersion, 1);
// Data files of a snapshot are about as large as those that Spark's stores compact to.
constexpr int64_t kDataFileBytes = 64 << 20;
constexpr int64_t kBatchBytes = 4 << 20;

[[noreturn]] void throwCorrupt(const std::string& reason) {
  throw Error("STATE_STORE_CHECKPOINT_CORRUPT", reason);
}

std::string_view withoutVersionByte(std::string_view stored) {
  if (stored.empty() || stored[0] != kEncodingVersion)
    throwCorrupt("a key or value does not begin with the version of its encoding");
  return stored.substr(1);
}

// A folder that goes away with its owner.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& parent) : path_(fs::path(parent) / ("state-" + randomUuid())) {
    std::error_code error;
    fs::create_directories(path_, error);
    if (error)
      throw Error("STORAGE_FAILURE",
                  "The folder " + path_.string() + " cannot be made: " + error.message() + ".",
                  {{"path", path_.string()}});
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string path() const { return path_.string(); }
  std::string child(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

// Entries of a snapshot in the making: sorted ones go into data files directly, others through the store's
// memory.
class SnapshotBuilder {
 public:
  SnapshotBuilder(const std::string& folder, std::string mergeDelimiter, bool sorted)
      : folder_(folder), sorted_(sorted) {
    SortedStore::Options options;
    options.mergeDelimiter = std::move(mergeDelimiter);
    store_ = SortedStore::open(folder + "/store", options);
  }

  void put(std::string_view key, std::string_view value) {
    ++numEntries_;
    if (!sorted_) {
      batch_.put(key, value);
      if (batch_.sizeBytes() >= kBatchBytes) writeBatch();
      return;
    }
    if (!file_) {
      files_.push_back(folder_ + "/" + std::to_string(files_.size()) + ".sst");
      file_ = std::make_unique<SortedFileWriter>(files_.back());
    }
    file_->put(key, value);
    if (file_->sizeBytes() >= kDataFileBytes) finishFile();
  }

  int64_t numEntries() const { return numEntries_; }

  // The folder with the checkpoint.
  std::string finish() {
    if (file_) finishFile();
    if (!files_.empty()) store_->ingest(files_);
    if (!sorted_) {
      writeBatch();
      store_->flush();
    }
    store_->checkpoint(folder_ + "/checkpoint");
    return folder_ + "/checkpoint";
  }

 private:
  void writeBatch() {
    store_->write(batch_);
    batch_.clear();
  }
  void finishFile() {
    file_->finish();
    file_.reset();
  }

  std::string folder_;
  bool sorted_;
  std::unique_ptr<SortedStore> store_;
  std::unique_ptr<SortedFileWriter> file_;
  std::vector<std::string> files_;
  SortedStoreBatch batch_;
  int64_t numEntries_ = 0;
};

}  // namespace

RocksDbStateFiles::RocksDbStateFiles(std::shared_ptr<FileSystem> fileSystem, StateStoreId id,
                                     StateFormat format, std::string temporaryFolder)
    : VersionedStateFiles(std::move(fileSystem), std::move(id), std::move(format), {"changelog", "zip"}),
      temporaryFolder_(std::move(temporaryFolder)) {
  const int numPrefix = this->format().numColsPrefixKey;
  if (numPrefix == 0) return;
  std::vector<DataTypePtr> types = fieldTypes(*this->format().keySchema);
  if (numPrefix < 0 || static_cast<size_t>(numPrefix) > types.size()) {
    throwCorrupt("The operator metadata of the state in " + folder() +
                 " counts more columns than its keys have.");
  }
  splitter_.emplace(std::move(types), static_cast<size_t>(numPrefix));
}

void RocksDbStateFiles::storedKey(std::string_view key, std::string* out) const {
  out->clear();
  if (!hasPrefix()) {
    out->append(kVersionByte).append(key);
    return;
  }
  out->assign(5, kEncodingVersion);
  splitter_->appendPrefix(key, out);
  const auto prefixBytes = static_cast<uint32_t>(out->size() - 4);
  std::memcpy(out->data(), &prefixBytes, 4);
  out->append(kVersionByte);
  splitter_->appendRest(key, out);
}

StateChange RocksDbStateFiles::plainChange(const StateChange& stored, std::string* scratch) const {
  StateChange plain = stored;
  if (plain.kind == StateChange::Kind::Put) plain.value = withoutVersionByte(stored.value);
  if (!hasPrefix()) {
    plain.key = withoutVersionByte(stored.key);
    return plain;
  }
  uint32_t prefixBytes = 0;
  if (stored.key.size() >= 4) std::memcpy(&prefixBytes, stored.key.data(), 4);
  if (stored.key.size() < 4 || prefixBytes > stored.key.size() - 4)
    throwCorrupt("a key's prefix lies outside it");
  scratch->clear();
  splitter_->appendJoined(withoutVersionByte(stored.key.substr(4, prefixBytes)),
                          withoutVersionByte(stored.key.substr(4 + prefixBytes)), scratch);
  plain.key = *scratch;
  return plain;
}

void RocksDbStateFiles::readChanges(const std::string& path, StateReceiver& receiver) {
  std::string scratch;
  try {
    readChangelog(*openCompressed(path),
                  [&](const StateChange& change) { receiver.apply(plainChange(change, &scratch)); });
  } catch (const Error& error) {
    throwForFile(error, "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED", path);
  }
}

void RocksDbStateFiles::readSnapshot(const std::string& path, StateReceiver& receiver) {
  const TemporaryFolder temporary(temporaryFolder_);
  std::string scratch;
  try {
    unpackSnapshot(fileSystem(), folder(), path, temporary.path());
    SortedStore::Options options;
    options.access = SortedStore::Access::ReadOnly;
    options.mergeDelimiter = mergeDelimiter();
    const auto store = SortedStore::open(temporary.path(), options);
    store->forEach({}, [&](std::string_view key, std::string_view value) {
      receiver.apply(plainChange({StateChange::Kind::Put, key, value}, &scratch));
      return true;
    });
  } catch (const Error& error) {
    // RocksDB's own complaints come as failures of storage: a damaged file looks the same as a disk that
    // cannot be read, and for both an older snapshot is worth a try.
    throwForFile(error, "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED", path);
  }
}

Error RocksDbStateFiles::missingChanges(const std::string& path) const {
  return unusableStateFile("CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE", path,
                           "it does not exist");
}

std::string RocksDbStateFiles::encodeChanges(const std::vector<StateChange>& changes) {
  ChangeRecordWriter writer(codec());
  std::string key;
  for (const StateChange& change : changes) {
    std::string_view prefix = kVersionByte, rest = change.key;
    if (hasPrefix()) {
      storedKey(change.key, &key);
      prefix = {};
      rest = key;
    }
    if (change.kind == StateChange::Kind::Put)
      writer.put(prefix, rest, kVersionByte, change.value);
    else
      writer.remove(prefix, rest);
  }
  return writer.finish();
}

std::string RocksDbStateFiles::prepareSnapshot(const StateEntries& entries) {
  const TemporaryFolder temporary(temporaryFolder_);
  // Rows in order give stored keys in order, unless prefix and rest are stored apart.
  SnapshotBuilder builder(temporary.path(), mergeDelimiter(), !hasPrefix());
  std::string storedKeyBytes, storedValue;
  entries([&](std::string_view key, std::string_view value) {
    storedKey(key, &storedKeyBytes);
    storedValue.assign(kVersionByte).append(value);
    builder.put(storedKeyBytes, storedValue);
  });
  return packSnapshot(fileSystem(), folder(), builder.finish(), builder.numEntries());
}

std::vector<std::string> RocksDbStateFiles::sharedFilesOf(const std::vector<std::string>& removed,
                                                          const std::vector<std::string>& retained) {
  std::set<std::string> needed, unneeded;
  int64_t oldestRetainedMs = INT64_MAX;
  const auto addDataFiles = [&](const std::string& path, std::set<std::string>* names) {
    try {
      for (const auto& file : readSnapshotMetadata(fileSystem(), path).dataFiles)
        names->insert(file.storedName);
      return true;
    } catch (const Error& error) {
      logWarn("Old data files in {} may stay, for the snapshot {} cannot be read: {}", folder(), path,
              error.text());
      return false;
    }
  };
  for (const std::string& path : retained) {
    // A retained snapshot that cannot be read leaves open which files it needs: then none goes.
    if (!addDataFiles(path, &needed)) return {};
    if (const auto info = fileSystem().stat(path))
      oldestRetainedMs = std::min(oldestRetainedMs, info->modificationTimeMs);
  }
  for (const std::string& path : removed) addDataFiles(path, &unneeded);
  std::vector<std::string> shared;
  for (const FileInfo& file : fileSystem().list(folder() + "/SSTs")) {
    const std::string name(file.name());
    if (needed.contains(name) || name.starts_with(".")) continue;
    // Files that no snapshot has come from attempts that failed; one that is younger may be part of a
    // snapshot in the making.
    if (!unneeded.contains(name) && file.modificationTimeMs >= oldestRetainedMs) continue;
    shared.push_back(file.path);
  }
  return shared;
}

}  // namespace thalweg
