// What both providers share: versions as numbered files in one folder, how a load finds its way through them,
// and which may go.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"
#include "state/state_compression.h"
#include "state/state_files.h"

namespace thalweg {

// The StateFiles contract over "<version>.<extension>" files ("<version>_<id>.<extension>" with Spark's
// checkpoint format 2); what is in a file is the provider's.
class VersionedStateFiles : public StateFiles {
 public:
  StateLoad load(int64_t version, StateReceiver& receiver) final;
  StateLoad loadFromSnapshot(int64_t snapshotVersion, int64_t version, StateReceiver& receiver) final;
  void loadChanges(int64_t version, StateReceiver& receiver) final;
  void writeChanges(int64_t version, const std::vector<StateChange>& changes) final;
  void writeSnapshot(int64_t version, const StateEntries& entries) final;
  StateVersions latestVersions() final;
  void clean(int64_t version, int64_t minVersionsToRetain) final;

 protected:
  struct Extensions {
    std::string changes;
    std::string snapshot;
  };
  VersionedStateFiles(std::shared_ptr<FileSystem> fileSystem, StateStoreId id, StateFormat format,
                      Extensions extensions);

  // Hand a file's contents to `receiver`. A file that cannot be used throws Error CANNOT_LOAD_STATE_STORE.*.
  virtual void readChanges(const std::string& path, StateReceiver& receiver) = 0;
  virtual void readSnapshot(const std::string& path, StateReceiver& receiver) = 0;
  virtual Error missingChanges(const std::string& path) const = 0;
  // Contents of the file that holds the changes.
  virtual std::string encodeChanges(const std::vector<StateChange>& changes) = 0;
  // Makes durable what the snapshot's file refers to, and returns the contents of that file.
  virtual std::string prepareSnapshot(const StateEntries& entries) = 0;
  // Files (paths) that only snapshots in `removed` refer to, and none in `retained`; they go after those
  // snapshots.
  virtual std::vector<std::string> sharedFilesOf(const std::vector<std::string>& removed,
                                                 const std::vector<std::string>& retained) {
    return {};
  }

  FileSystem& fileSystem() const { return *fileSystem_; }
  const std::string& folder() const { return folder_; }
  const StateFormat& format() const { return format_; }
  StateCodec codec() const { return codec_; }
  std::unique_ptr<StateDecompressor> openCompressed(const std::string& path) const;

 private:
  // Of one version; paths, empty where there is none.
  struct Files {
    std::string changes;
    std::string snapshot;
    bool ambiguous = false;  // several attempts' files: only the commit log knows which one counts
    // These and their checksums: Spark's Hadoop client keeps one in a hidden neighbour (".7.delta.crc"),
    // Spark 4.1 one of its own beside it ("7.delta.crc", which has a hidden neighbour too). Both refuse a
    // file that does not match.
    std::vector<std::string> all;
    bool operator==(const Files&) const = default;
  };
  using Versions = std::map<int64_t, Files>;
  Versions list() const { return versionsIn(fileSystem_->list(folder_)); }
  Versions versionsIn(const std::vector<FileInfo>& entries) const;
  // Files that the next writes may meet: of the loaded version and those ahead of it, as the load listed
  // them, and snapshots written since.
  Versions& ahead();
  // None where neither the snapshots nor the changes alone give the version; `failure` then says why.
  std::optional<StateLoad> loadListed(int64_t version, const Versions& files, StateReceiver& receiver,
                                      std::optional<Error>* failure);
  StateLoad loadFrom(int64_t snapshot, int64_t version, const Versions& files, StateReceiver& receiver);
  // Of one version, as listed. Throws Error UNSUPPORTED_FEATURE where several attempts' files are there.
  Files filesOf(int64_t version, const Versions& listed) const;
  std::string pathOf(int64_t version, const std::string& extension) const;

  std::shared_ptr<FileSystem> fileSystem_;
  std::string folder_;
  StateFormat format_;
  Extensions extensions_;
  StateCodec codec_;
  std::optional<Versions> ahead_;
};

// An Error with `condition` for a file that cannot be used, naming it and the reason.
Error unusableStateFile(const std::string& condition, const std::string& path, const std::string& reason);

// Throws what was met while a file was read: unusableStateFile where the file is to blame (what it holds, its
// disk, or that it is gone), `error` itself otherwise.
[[noreturn]] void throwForFile(const Error& error, const std::string& condition, const std::string& path);

}  // namespace thalweg
