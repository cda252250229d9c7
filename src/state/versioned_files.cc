#include "state/versioned_files.h"

#include <charconv>
#include <optional>
#include <utility>

#include <arrow/io/interfaces.h>

#include "common/error.h"
#include "common/fault_points.h"
#include "common/logging.h"

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

VersionedStateFiles::VersionedStateFiles(std::shared_ptr<FileSystem> fileSystem, StateStoreId id,
                                         StateFormat format, Extensions extensions)
    : fileSystem_(std::move(fileSystem)),
      folder_(id.folder()),
      format_(std::move(format)),
      extensions_(std::move(extensions)),
      codec_(stateCodecOf(format_.codec)) {}

std::map<int64_t, VersionedStateFiles::Files> VersionedStateFiles::list() const {
  std::map<int64_t, Files> versions;
  for (const FileInfo& file : fileSystem_->list(folder_)) {
    const std::string_view name = file.name();
    const size_t dot = name.rfind('.');
    if (file.isDirectory || dot == std::string_view::npos) continue;
    const std::string_view extension = name.substr(dot + 1);
    if (extension != extensions_.changes && extension != extensions_.snapshot) continue;
    const std::optional<int64_t> version = versionOf(name.substr(0, dot));
    if (!version) continue;
    Files& files = versions[*version];
    std::string& path = extension == extensions_.changes ? files.changes : files.snapshot;
    if (!path.empty()) files.ambiguous = true;
    path = file.path;
  }
  return versions;
}

StateLoad VersionedStateFiles::load(int64_t version, StateReceiver& receiver) {
  if (version < 0) {
    throw Error("CANNOT_LOAD_STATE_STORE.UNEXPECTED_VERSION",
                "A state's version cannot be " + std::to_string(version) + ".",
                {{"version", std::to_string(version)}});
  }
  const std::map<int64_t, Files> files = list();
  std::vector<int64_t> snapshots = {0};
  for (const auto& [number, found] : files) {
    if (number > version) break;
    if (!found.snapshot.empty()) snapshots.push_back(number);
  }
  std::optional<Error> newest;  // what went wrong with the newest snapshot is what the user has to know
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
      if (!newest) newest = error;
      ++numUnusable;
    }
  }
  throw *newest;
}

StateLoad VersionedStateFiles::loadFrom(int64_t snapshot, int64_t version,
                                        const std::map<int64_t, Files>& files, StateReceiver& receiver) {
  const auto filesOf = [&](int64_t number) {
    const auto found = files.find(number);
    if (found != files.end() && found->second.ambiguous) {
      throw unsupported(
          "State of which a version has several files (state store checkpoint format 2 after a repeated "
          "batch), in " +
          folder_);
    }
    return found == files.end() ? Files() : found->second;
  };
  for (int64_t number = snapshot + 1; number <= version; ++number) {
    if (filesOf(number).changes.empty())
      throw missingChanges(folder_ + "/" + std::to_string(number) + "." + extensions_.changes);
  }
  CountingReceiver counting(receiver);
  StateLoad loaded{snapshot, version - snapshot};
  counting.restart();
  if (snapshot > 0) readSnapshot(filesOf(snapshot).snapshot, counting);
  loaded.snapshotBytes = counting.takeBytes();
  for (int64_t number = snapshot + 1; number <= version; ++number)
    readChanges(filesOf(number).changes, counting);
  loaded.changeBytes = counting.takeBytes();
  return loaded;
}

void VersionedStateFiles::writeChanges(int64_t version, const std::vector<StateChange>& changes) {
  passFaultPoint(FaultPoint::StateChangesBefore);
  writeFile(std::to_string(version) + "." + extensions_.changes, encodeChanges(changes));
  passFaultPoint(FaultPoint::StateChangesAfter);
}

void VersionedStateFiles::writeSnapshot(int64_t version, const StateEntries& entries) {
  const std::string contents = prepareSnapshot(entries);
  passFaultPoint(FaultPoint::StateSnapshotBefore);
  writeFile(std::to_string(version) + "." + extensions_.snapshot, contents);
  passFaultPoint(FaultPoint::StateSnapshotAfter);
}

void VersionedStateFiles::writeFile(const std::string& name, const std::string& contents) const {
  fileSystem_->remove(folder_ + "/." + name + ".crc");
  fileSystem_->writeAtomically(folder_ + "/" + name, contents);
}

StateVersions VersionedStateFiles::latestVersions() {
  StateVersions latest;
  for (const auto& [version, files] : list()) {
    latest.latest = version;
    if (!files.snapshot.empty()) latest.latestSnapshot = version;
  }
  return latest;
}

void VersionedStateFiles::clean(int64_t version_, int64_t minVersionsToRetain) {
  const std::map<int64_t, Files> versions = list();
  if (versions.empty()) return;
  const int64_t oldestRetained = versions.rbegin()->first - minVersionsToRetain;
  int64_t base = 0;  // the snapshot that the oldest retained version begins with
  for (const auto& [version, files] : versions) {
    if (version <= oldestRetained && !files.snapshot.empty()) base = version;
  }
  if (base == 0) return;
  std::vector<std::string> removed, retained;
  for (const auto& [version, files] : versions) {
    if (!files.snapshot.empty()) (version < base ? removed : retained).push_back(files.snapshot);
  }
  const std::vector<std::string> shared =
      removed.empty() ? std::vector<std::string>() : sharedFilesOf(removed, retained);
  for (const auto& [version, files] : versions) {
    if (version >= base) break;
    if (!files.changes.empty()) removeFile(files.changes);
    if (!files.snapshot.empty()) removeFile(files.snapshot);
  }
  for (const std::string& path : shared) removeFile(path);
}

void VersionedStateFiles::removeFile(const std::string& path) const {
  fileSystem_->remove(path);
  const size_t slash = path.rfind('/');
  fileSystem_->remove(path.substr(0, slash + 1) + "." + path.substr(slash + 1) + ".crc");
}

std::unique_ptr<StateDecompressor> VersionedStateFiles::openCompressed(const std::string& path) const {
  return openStateDecompressor(codec_, fileSystem_->openInput(path));
}

}  // namespace thalweg
