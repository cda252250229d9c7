#include "state/versioned_files.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <arrow/io/interfaces.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/fault_points.h"
#include "common/logging.h"
#include "storage/temporary_names.h"

namespace thalweg {
namespace {

// The version that a name begins with: "12.delta", "12_<id>.delta".
std::optional<int64_t> versionOf(std::string_view stem) {
  int64_t version = 0;
  const auto [end, error] = std::from_chars(stem.data(), stem.data() + stem.size(), version);
  if (error != std::errc() || version <= 0) return std::nullopt;
  if (end != stem.data() + stem.size() && *end != '_') return std::nullopt;
  return version;
}

// Listings that a load takes when files go while it reads them. Each new one begins with a snapshot that the
// clean-up has just kept.
constexpr int kMostListings = 5;

// A name without what makes it a checksum's: "7.delta" of ".7.delta.crc", "7.delta.crc" and
// ".7.delta.crc.crc".
std::string_view checkedName(std::string_view name) {
  constexpr std::string_view kChecksum = ".crc";
  const bool hidden = name.starts_with('.');
  std::string_view checked = hidden ? name.substr(1) : name;
  while (checked.ends_with(kChecksum)) checked.remove_suffix(kChecksum.size());
  // Other hidden files are not of the state.
  return hidden && !name.ends_with(kChecksum) ? std::string_view() : checked;
}

std::string_view nameOf(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// Passes on what it receives and counts its bytes.
class CountingReceiver final : public StateReceiver {
 public:
  explicit CountingReceiver(StateReceiver& receiver) : receiver_(receiver) {}
  void restart() override { receiver_.restart(); }
  void apply(const StateChange& change) override {
    bytes_ += static_cast<int64_t>(change.key.size() + change.value.size());
    receiver_.apply(change);
  }
  int64_t takeBytes() { return std::exchange(bytes_, 0); }

 private:
  StateReceiver& receiver_;
  int64_t bytes_ = 0;
};

}  // namespace

Error unusableStateFile(const std::string& condition, const std::string& path, const std::string& reason) {
  return Error(condition,
               "The state file " + path + " cannot be used: " + reason +
                   ". Restore the file, or start the query with a new checkpoint.",
               {{"fileToRead", path}});
}

void throwForFile(const Error& error, const std::string& condition, const std::string& path) {
  for (const char* blame : {"STATE_STORE_CHECKPOINT_CORRUPT", "STORAGE_FAILURE", "PATH_NOT_FOUND"}) {
    if (error.condition() == blame) throw unusableStateFile(condition, path, error.text()).withCause(error);
  }
  throw error;
}

VersionedStateFiles::VersionedStateFiles(std::shared_ptr<FileSystem> fileSystem, StateStoreId id,
                                         StateFormat format, Extensions extensions)
    : fileSystem_(std::move(fileSystem)),
      folder_(id.folder()),
      format_(std::move(format)),
      extensions_(std::move(extensions)),
      codec_(stateCodecOf(format_.codec)) {}

VersionedStateFiles::Versions VersionedStateFiles::versionsIn(const std::vector<FileInfo>& entries) const {
  Versions versions;
  for (const FileInfo& file : entries) {
    const std::string_view name = checkedName(file.name());
    const size_t dot = name.rfind('.');
    if (file.isDirectory || dot == std::string_view::npos) continue;
    const std::string_view extension = name.substr(dot + 1);
    if (extension != extensions_.changes && extension != extensions_.snapshot) continue;
    const std::optional<int64_t> version = versionOf(name.substr(0, dot));
    if (!version) continue;
    Files& files = versions[*version];
    files.all.push_back(file.path);
    if (name.size() != file.name().size()) continue;
    std::string& path = extension == extensions_.changes ? files.changes : files.snapshot;
    if (!path.empty()) files.ambiguous = true;
    path = file.path;
  }
  return versions;
}

VersionedStateFiles::Versions& VersionedStateFiles::ahead() {
  if (!ahead_) ahead_ = list();
  return *ahead_;
}

StateLoad VersionedStateFiles::load(int64_t version, StateReceiver& receiver) {
  if (version < 0) {
    throw Error("CANNOT_LOAD_STATE_STORE.UNEXPECTED_VERSION",
                "A state's version cannot be " + std::to_string(version) + ".",
                {{"version", std::to_string(version)}});
  }
  Versions files = list();
  for (int listing = 1;; ++listing) {
    std::optional<Error> failure;
    if (const auto loaded = loadListed(version, files, receiver, &failure)) {
      ahead_.emplace(files.lower_bound(version), files.end());
      return *loaded;
    }
    // A reader is not the owner, whose clean-up may have taken a file since it was listed.
    Versions again = list();
    if (listing == kMostListings || again == files) throw *failure;
    files = std::move(again);
  }
}

std::optional<StateLoad> VersionedStateFiles::loadListed(int64_t version, const Versions& files,
                                                         StateReceiver& receiver,
                                                         std::optional<Error>* failure) {
  std::vector<int64_t> snapshots = {0};
  for (const auto& [number, found] : files) {
    if (number > version) break;
    if (!found.snapshot.empty()) snapshots.push_back(number);
  }
  int64_t numUnusable = 0;
  for (auto snapshot = snapshots.rbegin(); snapshot != snapshots.rend(); ++snapshot) {
    try {
      StateLoad loaded = loadFrom(*snapshot, version, files, receiver);
      loaded.numUnusableSnapshots = numUnusable;
      return loaded;
    } catch (const Error& error) {
      if (!error.condition().starts_with("CANNOT_LOAD_STATE_STORE")) throw;
      if (*snapshot != 0)
        logWarn("The state of version {} in {} is not loaded from snapshot {}: {}", version, folder_,
                *snapshot, error.text());
      // What went wrong with the newest snapshot is what the user has to know.
      if (!*failure) *failure = error;
      ++numUnusable;
    }
  }
  return std::nullopt;
}

StateLoad VersionedStateFiles::loadFrom(int64_t snapshot, int64_t version, const Versions& files,
                                        StateReceiver& receiver) {
  std::vector<std::string> changes;
  for (int64_t number = snapshot + 1; number <= version; ++number) {
    changes.push_back(filesOf(number, files).changes);
    if (changes.back().empty()) throw missingChanges(pathOf(number, extensions_.changes));
  }
  CountingReceiver counting(receiver);
  StateLoad loaded{snapshot, version - snapshot};
  counting.restart();
  if (snapshot > 0) readSnapshot(filesOf(snapshot, files).snapshot, counting);
  loaded.snapshotBytes = counting.takeBytes();
  for (const std::string& path : changes) readChanges(path, counting);
  loaded.changeBytes = counting.takeBytes();
  return loaded;
}

StateLoad VersionedStateFiles::loadFromSnapshot(int64_t snapshotVersion, int64_t version,
                                                StateReceiver& receiver) {
  const Versions files = list();
  if (!filesOf(snapshotVersion, files).snapshot.empty())
    return loadFrom(snapshotVersion, version, files, receiver);
  std::string there;
  for (const auto& [number, found] : files) {
    if (!found.snapshot.empty()) there += (there.empty() ? "" : ", ") + std::to_string(number);
  }
  const std::string path = pathOf(snapshotVersion, extensions_.snapshot);
  throw Error("CANNOT_LOAD_STATE_STORE.CANNOT_READ_MISSING_SNAPSHOT_FILE",
              "There is no snapshot of version " + std::to_string(snapshotVersion) +
                  " of the state: " + path + " does not exist. " +
                  (there.empty() ? "No version has one." : "Versions " + there + " have one.") +
                  " A batch's version is one more than its number.",
              {{"fileToRead", path}});
}

void VersionedStateFiles::loadChanges(int64_t version, StateReceiver& receiver) {
  const std::string path = filesOf(version, list()).changes;
  if (path.empty()) {
    const std::string missing = pathOf(version, extensions_.changes);
    throw Error("CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE",
                "There is no file of the changes that lead to version " + std::to_string(version) +
                    " of the state: " + missing +
                    " does not exist. Old files are removed (spark.sql.streaming.minBatchesToRetain), and "
                    "Spark's RocksDB "
                    "provider writes such files only where "
                    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled is set. Read the "
                    "changes of batches that have them.",
                {{"fileToRead", missing}});
  }
  receiver.restart();
  readChanges(path, receiver);
}

VersionedStateFiles::Files VersionedStateFiles::filesOf(int64_t version, const Versions& listed) const {
  const auto found = listed.find(version);
  if (found == listed.end()) return {};
  if (!found->second.ambiguous) return found->second;
  throw unsupported(
      "State of which a version has several files (state store checkpoint format 2 after a repeated "
      "batch), in " +
      folder_);
}

std::string VersionedStateFiles::pathOf(int64_t version, const std::string& extension) const {
  return folder_ + "/" + std::to_string(version) + "." + extension;
}

// A version that is written is the state from now on: what an attempt at it left, a snapshot of another life
// of the query above all, would be loaded in its place. What the listing of the load did not show is another
// run's, and stays: this one has lost the checkpoint then.
void VersionedStateFiles::writeChanges(int64_t version, const std::vector<StateChange>& changes) {
  passFaultPoint(FaultPoint::StateChangesBefore);
  const std::string path = pathOf(version, extensions_.changes);
  const std::string contents = encodeChanges(changes);
  if (const auto attempt = ahead().find(version); attempt != ahead().end()) {
    for (const std::string& old : attempt->second.all) {
      if (old != path) fileSystem_->remove(old);
    }
    ahead().erase(attempt);
  }
  fileSystem_->writeAtomically(path, contents);
  passFaultPoint(FaultPoint::StateChangesAfter);
}

void VersionedStateFiles::writeSnapshot(int64_t version, const StateEntries& entries) {
  const std::string contents = prepareSnapshot(entries);
  passFaultPoint(FaultPoint::StateSnapshotBefore);
  const std::string name = std::to_string(version) + "." + extensions_.snapshot;
  const std::string path = folder_ + "/" + name;
  std::vector<std::string>& known = ahead()[version].all;
  std::erase_if(known, [&](const std::string& old) {
    if (checkedName(nameOf(old)) != name) return false;
    if (old != path) fileSystem_->remove(old);
    return true;
  });
  fileSystem_->writeAtomically(path, contents);
  known.push_back(path);
  passFaultPoint(FaultPoint::StateSnapshotAfter);
}

StateVersions VersionedStateFiles::latestVersions() {
  StateVersions latest;
  for (const auto& [version, files] : list()) {
    if (files.changes.empty() && files.snapshot.empty()) continue;  // checksums of files that are gone
    latest.latest = version;
    if (!files.snapshot.empty()) latest.latestSnapshot = version;
  }
  return latest;
}

void VersionedStateFiles::clean(int64_t version, int64_t minVersionsToRetain) {
  const std::vector<FileInfo> entries = fileSystem_->list(folder_);
  removeAbandonedFiles(*fileSystem_, entries, systemClock().nowMillis());
  const Versions versions = versionsIn(entries);
  int64_t base = 0;  // the snapshot that the oldest retained version begins with
  for (const auto& [number, files] : versions) {
    if (number <= version - minVersionsToRetain && !files.snapshot.empty()) base = number;
  }
  if (base == 0) return;
  std::vector<std::string> removed, retained;
  for (const auto& [number, files] : versions) {
    if (!files.snapshot.empty()) (number < base ? removed : retained).push_back(files.snapshot);
  }
  const std::vector<std::string> shared =
      removed.empty() ? std::vector<std::string>() : sharedFilesOf(removed, retained);
  for (const auto& [number, files] : versions) {
    if (number >= base) break;
    for (const std::string& path : files.all) fileSystem_->remove(path);
  }
  for (const std::string& path : shared) fileSystem_->remove(path);
  if (ahead_) ahead_->erase(ahead_->begin(), ahead_->lower_bound(base));
}

std::unique_ptr<StateDecompressor> VersionedStateFiles::openCompressed(const std::string& path) const {
  return openStateDecompressor(codec_, fileSystem_->openInput(path), path);
}

}  // namespace thalweg
