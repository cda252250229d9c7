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
      const uint32_t position = slots_[slot];
      if (position == kNone) return kNone;
      const Entry& entry = entries_[position];
      if (entry.hash != hash) continue;
      std::string scratch;
      if (keyOf(FileRecord(entry.record), tablePath, scratch) == key) return position;
    }
  }

  // Another record under the entry's key.
  void replace(uint32_t position, std::string_view packed) {
    entries_[position].record = arena_.store(packed);
  }

  // For a key that the layer is known not to have.
  void putNew(uint64_t hash, std::string_view packed) { append(hash, arena_.store(packed)); }

  // Where the statistics of entries are.
  const std::vector<std::shared_ptr<const CheckpointStatistics>>& statistics() const { return statistics_; }
  void keep(const CheckpointStatistics& source) {
    const auto isSame = [&](const auto& kept) { return kept.get() == &source; };
    // Files come in the order of their sources.
    if (std::none_of(statistics_.rbegin(), statistics_.rend(), isSame))
      statistics_.push_back(source.shared_from_this());
  }

 private:
  void append(uint64_t hash, const char* record) {
    if (entries_.size() + 1 >= kNone)
      throw internalError("A Delta snapshot holds more than 4 billion files.");
    entries_.push_back({hash, record});
    if (entries_.size() * 2 > slots_.size()) {
      rebuildIndex(std::max<size_t>(8, slots_.size() * 2));
    } else {
      index(static_cast<uint32_t>(entries_.size() - 1));
    }
  }
  void rebuildIndex(size_t slots) {
    slots_.assign(slots, kNone);
    for (uint32_t i = 0; i < entries_.size(); ++i) index(i);
  }
  void index(uint32_t position) {
    size_t slot = entries_[position].hash & (slots_.size() - 1);
    while (slots_[slot] != kNone) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = position;
  }

  TextArena arena_;
  std::vector<std::shared_ptr<const CheckpointStatistics>> statistics_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> slots_;
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
    merged->putNew(hash, record.packed());
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

void FileSetBuilder::put(const FileFields& file) {
  const std::string_view key =
      keyOf(file.path, file.deletionVector ? file.deletionVector->uniqueId() : std::string(),
            base_.tablePath_, key_);
  const uint64_t hash = hashOf(key);
  packed_.clear();
  packFile(file, packed_);
  if (file.laterStats) layer_->keep(*file.laterStats->source);
  const uint32_t here = layer_->find(hash, key, base_.tablePath_);
  if (here != FileLayer::kNone) {
    count(base_.totals_, FileRecord(layer_->entries()[here].record), -1);
    layer_->replace(here, packed_);
  } else {
    if (const auto older = base_.find(hash, key)) count(base_.totals_, *older, -1);
    layer_->putNew(hash, packed_);
  }
  count(base_.totals_, FileRecord(packed_.data()), 1);
}

void FileSetBuilder::add(const AddFile& file) {
  put(fieldsOf(file));
}
void FileSetBuilder::remove(const RemoveFile& file) {
  put(fieldsOf(file));
}

FileSet FileSetBuilder::finish(int64_t tombstoneCutoffMs) && {
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
