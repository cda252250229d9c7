#include "delta/upsert/row_locator.h"

#include <algorithm>

#include <arrow/record_batch.h>

#include "delta/modify/file_rows.h"
#include "delta/scan/data_file_reader.h"

namespace thalweg::delta {

std::vector<LocatedRows> RowLocator::locate(const Snapshot& snapshot, const TableLayoutPtr& layout,
                                            const std::vector<int>& keyColumns,
                                            const std::vector<KeyLeaf>& leaves, const KeyHasher& hasher,
                                            const ChangedKeys& keys) {
  std::vector<LocatedRows> located;
  for (AddFile& file : candidates(snapshot, leaves, keys)) {
    const auto index = indexOf(file, layout, keyColumns, hasher);
    LocatedRows found;
    for (const KeyHash& key : keys.hashes()) index->find(key, &found.rows);
    if (found.rows.empty()) continue;
    found.deleted = vectorOf(file, *layout);
    std::erase_if(found.rows, [&](int64_t row) { return found.deleted->contains(row); });
    if (found.rows.empty()) continue;
    std::sort(found.rows.begin(), found.rows.end());
    found.numRows = index->numRows();
    found.file = std::move(file);
    located.push_back(std::move(found));
  }
  return located;
}

std::vector<AddFile> RowLocator::candidates(const Snapshot& snapshot, const std::vector<KeyLeaf>& leaves,
                                            const ChangedKeys& keys) {
  ++calls_;
  std::vector<AddFile> files;
  snapshot.files().forEachLive([&](const FileRecord& record) {
    auto entry = entries_.find(record.logPath());
    if (entry == entries_.end()) entry = entries_.emplace(record.logPath(), Entry()).first;
    if (entry->second.bounds.size() != leaves.size())
      entry->second.bounds = leafBounds(leaves, record.toAdd());
    entry->second.lastSeen = calls_;
    if (keys.mayBeIn(entry->second.bounds)) files.push_back(record.toAdd());
  });
  forgetRemovedFiles(snapshot.numFiles());
  return files;
}

void RowLocator::forgetRemovedFiles(int64_t numLive) {
  // Now and then is often enough: what stays too long costs memory alone.
  constexpr size_t kSlack = 64;
  if (entries_.size() <= 2 * static_cast<size_t>(numLive) + kSlack) return;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (entry->second.lastSeen == calls_) {
      ++entry;
      continue;
    }
    dropIndex(entry->second);
    entry = entries_.erase(entry);
  }
}

std::shared_ptr<const KeyIndex> RowLocator::indexOf(const AddFile& file, const TableLayoutPtr& layout,
                                                    const std::vector<int>& keyColumns,
                                                    const KeyHasher& hasher) {
  const auto entry = entries_.find(file.path);
  if (entry->second.index) {
    uses_.splice(uses_.begin(), uses_, entry->second.use);
    return entry->second.index;
  }
  AddFile all = file;
  all.deletionVector.reset();  // positions count deleted rows too
  DataFileReadOptions options;
  options.columns = keyColumns;
  DataFileReader reader(layout, std::move(all), options);
  std::vector<KeyHash> hashes;
  while (const auto rows = reader.next()) hasher.hash(rows->columns(), rows->num_rows(), &hashes);
  ++numFilesRead_;
  auto index = std::make_shared<const KeyIndex>(hashes);
  keepIndex(entry, index);
  return index;
}

std::shared_ptr<const DeletedRows> RowLocator::vectorOf(const AddFile& file, const TableLayout& layout) {
  Entry& entry = entries_.find(file.path)->second;
  const std::string id = file.deletionVector ? file.deletionVector->uniqueId() : std::string();
  if (entry.vector && entry.vectorId == id) return entry.vector;
  entry.vector = deletedRowsOf(file, layout);
  entry.vectorId = id;
  return entry.vector;
}

void RowLocator::adopt(const std::string& logPath, std::shared_ptr<const KeyIndex> index) {
  const auto entry = entries_.try_emplace(logPath).first;
  if (!entry->second.index) keepIndex(entry, std::move(index));
}

void RowLocator::keepIndex(Entries::iterator entry, std::shared_ptr<const KeyIndex> index) {
  indexBytes_ += static_cast<int64_t>(index->sizeBytes());
  entry->second.index = std::move(index);
  uses_.emplace_front(entry->first);
  entry->second.use = uses_.begin();
  while (indexBytes_ > maxIndexBytes_ && uses_.size() > 1) dropIndex(entries_.find(uses_.back())->second);
}

void RowLocator::dropIndex(Entry& entry) {
  if (!entry.index) return;
  indexBytes_ -= static_cast<int64_t>(entry.index->sizeBytes());
  uses_.erase(entry.use);
  entry.index.reset();
}

}  // namespace thalweg::delta
