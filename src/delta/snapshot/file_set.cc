#include "delta/snapshot/file_set.h"

#include <algorithm>
#include <functional>

#include "common/error.h"
#include "delta/log/checkpoint_statistics.h"
#include "delta/log/file_paths.h"
#include "delta/log/text_arena.h"

namespace thalweg::delta {
namespace {

// The key is in `scratch`, or the path itself.
std::string_view keyOf(std::string_view logPath, std::string_view dvUniqueId, std::string_view tablePath,
                       std::string& scratch) {
  if (dvUniqueId.empty() && isCanonicalFilePath(logPath)) return logPath;
  scratch = canonicalFilePath(logPath, tablePath);
  if (!dvUniqueId.empty()) {
    scratch += '\0';
    scratch += dvUniqueId;
  }
  return scratch;
}

std::string_view keyOf(const FileRecord& record, std::string_view tablePath, std::string& scratch) {
  return keyOf(record.logPath(), record.hasDeletionVector() ? record.dvUniqueId() : std::string(), tablePath,
               scratch);
}

uint64_t hashOf(std::string_view key) {
  return std::hash<std::string_view>()(key);
}

}  // namespace

// Entries in order of insertion with an open-addressing index over their hashes. Mutable only inside a
// builder.
class FileLayer {
 public:
  struct Entry {
    uint64_t hash;
    const char* record;
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  size_t size() const { return entries_.size(); }
  const std::vector<Entry>& entries() const { return entries_; }

  // The entry's position with this key, or kNone.
  uint32_t find(uint64_t hash, std::string_view key, std::string_view tablePath) const {
    if (slots_.empty()) return kNone;
    for (size_t slot = hash & (slots_.size() - 1);; slot = (slot + 1) & (slots_.size() - 1)) {
      const Slot& found = slots_[slot];
      if (found.position == kNone) return kNone;
      if (found.tag != tagOf(hash) || entries_[found.position].hash != hash) continue;
      std::string scratch;
      if (keyOf(FileRecord(entries_[found.position].record), tablePath, scratch) == key)
        return found.position;
    }
  }

  // Another record, of the layer's own, under the entry's key.
  void replace(uint32_t position, const char* record) { entries_[position].record = record; }

  // A record of the layer's own, for a key that it is known not to have.
  void putNew(uint64_t hash, const char* record) {
    if (entries_.size() + 1 >= kNone)
      throw internalError("A Delta snapshot holds more than 4 billion files.");
    entries_.push_back({hash, record});
    if (entries_.size() * 4 > slots_.size() * 3) {
      rebuildIndex(std::max<size_t>(8, slots_.size() * 2));
    } else {
      index(static_cast<uint32_t>(entries_.size() - 1));
    }
  }

  // The layer's own copy.
  const char* store(std::string_view packed) { return arena_.store(packed); }

  // Entries wait for each other: to look for one costs a hundred nanoseconds, unless the memory where it is
  // looked for is asked for beforehand. True: enough of them do.
  bool await(const Entry& entry) {
    constexpr size_t kAwaited = 32;
    awaited_.push_back(entry);
    prefetch(entry.hash);
    return awaited_.size() == kAwaited;
  }
  const std::vector<Entry>& awaited() const { return awaited_; }
  void clearAwaited() { awaited_.clear(); }

  // Where the statistics of entries are.
  const std::vector<std::shared_ptr<const CheckpointStatistics>>& statistics() const { return statistics_; }
  void keep(const CheckpointStatistics& source) {
    const auto isSame = [&](const auto& kept) { return kept.get() == &source; };
    // Files come in the order of their sources.
    if (std::none_of(statistics_.rbegin(), statistics_.rend(), isSame))
      statistics_.push_back(source.shared_from_this());
  }

 private:
  // The upper half of the hash: entries that only share a slot are not looked at.
  struct Slot {
    uint32_t tag;
    uint32_t position;
  };
  static uint32_t tagOf(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

  void prefetch(uint64_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[hash & (slots_.size() - 1)], /*write=*/1);
  }
  void rebuildIndex(size_t slots) {
    constexpr size_t kAhead = 16;
    slots_.assign(slots, {0, kNone});
    for (uint32_t i = 0; i < entries_.size(); ++i) {
      if (i + kAhead < entries_.size()) prefetch(entries_[i + kAhead].hash);
      index(i);
    }
  }
  void index(uint32_t position) {
    const uint64_t hash = entries_[position].hash;
    size_t slot = hash & (slots_.size() - 1);
    while (slots_[slot].position != kNone) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = {tagOf(hash), position};
  }

  TextArena arena_;
  std::vector<std::shared_ptr<const CheckpointStatistics>> statistics_;
  std::vector<Entry> entries_;
  std::vector<Slot> slots_;
  std::vector<Entry> awaited_;  // in the order in which they came; empty but in a builder
};

namespace {

std::shared_ptr<const FileLayer> mergeLayers(const FileLayer& older, const FileLayer& newer,
                                             std::string_view tablePath, bool isBase,
                                             int64_t tombstoneCutoffMs, int64_t& numTombstones) {
  auto merged = std::make_shared<FileLayer>();
  const auto keep = [&](const FileRecord& record) {
    if (!isBase || record.isAdd() || record.deletionTimestamp() >= tombstoneCutoffMs) return true;
    --numTombstones;
    return false;
  };
  const bool later = !older.statistics().empty() || !newer.statistics().empty();
  const auto put = [&](uint64_t hash, const FileRecord& record) {
    merged->putNew(hash, merged->store(record.packed()));
    // A checkpoint of whose files none is left is let go.
    if (const CheckpointStatistics* source = later ? record.laterStatistics() : nullptr)
      merged->keep(*source);
  };
  std::string scratch;
  for (const FileLayer::Entry& entry : older.entries()) {
    const FileRecord record(entry.record);
    const std::string_view key = newer.size() == 0 ? std::string_view() : keyOf(record, tablePath, scratch);
    if (newer.find(entry.hash, key, tablePath) != FileLayer::kNone || !keep(record)) continue;
    put(entry.hash, record);
  }
  for (const FileLayer::Entry& entry : newer.entries()) {
    const FileRecord record(entry.record);
    if (keep(record)) put(entry.hash, record);
  }
  return merged;
}

void count(FileTotals& totals, const FileRecord& record, int64_t sign) {
  if (!record.isAdd()) {
    totals.numTombstones += sign;
    return;
  }
  totals.numFiles += sign;
  totals.sizeInBytes += sign * record.sizeBytes();
  if (record.hasDeletionVector()) totals.numDeletionVectors += sign;
}

}  // namespace

FileSet::FileSet(std::string tablePath) : tablePath_(std::move(tablePath)) {}

std::optional<FileRecord> FileSet::find(uint64_t hash, std::string_view key) const {
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    const uint32_t position = (*layer)->find(hash, key, tablePath_);
    if (position != FileLayer::kNone) return FileRecord((*layer)->entries()[position].record);
  }
  return std::nullopt;
}

bool FileSet::hiddenAbove(size_t layer, uint64_t hash, const FileRecord& record) const {
  if (layer + 1 == layers_.size()) return false;
  std::string scratch;
  const std::string_view key = keyOf(record, tablePath_, scratch);
  for (size_t above = layer + 1; above < layers_.size(); ++above) {
    if (layers_[above]->find(hash, key, tablePath_) != FileLayer::kNone) return true;
  }
  return false;
}

void FileSet::forEachLive(const std::function<void(const FileRecord&)>& visit) const {
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    for (const FileLayer::Entry& entry : layers_[layer]->entries()) {
      const FileRecord record(entry.record);
      if (record.isAdd() && !hiddenAbove(layer, entry.hash, record)) visit(record);
    }
  }
}

void FileSet::forEachTombstone(int64_t cutoffMs, const std::function<void(const FileRecord&)>& visit) const {
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    for (const FileLayer::Entry& entry : layers_[layer]->entries()) {
      const FileRecord record(entry.record);
      if (record.isAdd() || record.deletionTimestamp() < cutoffMs) continue;
      if (!hiddenAbove(layer, entry.hash, record)) visit(record);
    }
  }
}

bool FileSet::loadStatistics() const {
  bool all = true;
  for (const auto& layer : layers_) {
    for (const auto& source : layer->statistics()) all = source->load() && all;
  }
  return all;
}

bool FileSet::hasLostStatistics() const {
  return std::any_of(layers_.begin(), layers_.end(), [](const auto& layer) {
    const auto& sources = layer->statistics();
    return std::any_of(sources.begin(), sources.end(), [](const auto& source) { return source->isLost(); });
  });
}

std::optional<AddFile> FileSet::findLive(std::string_view logPath, std::string_view dvUniqueId) const {
  std::string scratch;
  const std::string_view key = keyOf(logPath, dvUniqueId, tablePath_, scratch);
  const auto record = find(hashOf(key), key);
  if (!record || !record->isAdd()) return std::nullopt;
  return record->toAdd(Statistics::IfKnown);
}

bool FileSet::containsLive(std::string_view logPath, std::string_view dvUniqueId) const {
  std::string scratch;
  const std::string_view key = keyOf(logPath, dvUniqueId, tablePath_, scratch);
  const auto record = find(hashOf(key), key);
  return record && record->isAdd();
}

bool FileSet::knows(std::string_view logPath, std::string_view dvUniqueId) const {
  std::string scratch;
  const std::string_view key = keyOf(logPath, dvUniqueId, tablePath_, scratch);
  return find(hashOf(key), key).has_value();
}

FileSetBuilder::FileSetBuilder(FileSet base)
    : base_(std::move(base)), layer_(std::make_unique<FileLayer>()) {}
FileSetBuilder::~FileSetBuilder() = default;

namespace {

// Each becomes one of the layer, over its older one in the layer or below it.
template <typename FindBelow>
void settle(FileLayer& layer, const std::string& tablePath, const FindBelow& findBelow, FileTotals& totals) {
  std::string scratch;
  for (const FileLayer::Entry& entry : layer.awaited()) {
    const FileRecord record(entry.record);
    const std::string_view key = keyOf(record, tablePath, scratch);
    const uint32_t here = layer.find(entry.hash, key, tablePath);
    if (here != FileLayer::kNone) {
      count(totals, FileRecord(layer.entries()[here].record), -1);
      layer.replace(here, entry.record);
    } else {
      if (const auto older = findBelow(entry.hash, key)) count(totals, *older, -1);
      layer.putNew(entry.hash, entry.record);
    }
    count(totals, record, 1);
  }
  layer.clearAwaited();
}

}  // namespace

void FileSetBuilder::put(const FileFields& file) {
  const std::string_view key =
      keyOf(file.path, file.deletionVector ? file.deletionVector->uniqueId() : std::string(),
            base_.tablePath_, key_);
  packed_.clear();
  packFile(file, packed_);
  if (file.laterStats) layer_->keep(*file.laterStats->source);
  if (!layer_->await({hashOf(key), layer_->store(packed_)})) return;
  const auto findBelow = [this](uint64_t hash, std::string_view below) { return base_.find(hash, below); };
  settle(*layer_, base_.tablePath_, findBelow, base_.totals_);
}

void FileSetBuilder::add(const AddFile& file) {
  put(fieldsOf(file));
}
void FileSetBuilder::remove(const RemoveFile& file) {
  put(fieldsOf(file));
}

FileSet FileSetBuilder::finish(int64_t tombstoneCutoffMs) && {
  const auto findBelow = [this](uint64_t hash, std::string_view below) { return base_.find(hash, below); };
  settle(*layer_, base_.tablePath_, findBelow, base_.totals_);
  if (layer_->size() == 0) return std::move(base_);
  auto& layers = base_.layers_;
  layers.push_back(std::move(layer_));
  while (layers.size() >= 2 && layers.back()->size() * 2 >= layers[layers.size() - 2]->size()) {
    const bool isBase = layers.size() == 2;
    auto merged = mergeLayers(*layers[layers.size() - 2], *layers.back(), base_.tablePath_, isBase,
                              tombstoneCutoffMs, base_.totals_.numTombstones);
    layers.pop_back();
    layers.back() = std::move(merged);
  }
  return std::move(base_);
}

}  // namespace thalweg::delta
