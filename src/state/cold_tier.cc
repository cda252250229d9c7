#include "state/cold_tier.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "common/big_endian.h"
#include "common/error.h"
#include "common/logging.h"
#include "common/uuid.h"

namespace thalweg {
namespace {

// Entries are "v" partition key → time, value and, of those that have a time, "t" partition time key →
// nothing. Those of sorters are "s" partition sorter key → value: what an earlier sorter removed is not in
// the way of a later one.
constexpr char kValues = 'v';
constexpr char kTimes = 't';
constexpr char kSorted = 's';
constexpr size_t kPrefixBytes = 1 + sizeof(uint32_t);
constexpr int64_t kBatchBytes = 1 << 20;

// So that times before 1970 sort before those after.
uint64_t sortable(int64_t time) {
  return static_cast<uint64_t>(time) ^ (uint64_t{1} << 63);
}

std::string prefixOf(char kind, uint32_t partition) {
  std::string prefix(1, kind);
  appendBigEndian(partition, &prefix);
  return prefix;
}

std::string sorterPrefix(uint32_t partition, uint32_t sorter) {
  std::string prefix = prefixOf(kSorted, partition);
  appendBigEndian(sorter, &prefix);
  return prefix;
}

constexpr std::string_view kFolderPrefix = "thalweg-state-";

// Of this process's folders. Its number would not do: it is the same at each start in a container.
const std::string& ownPrefix() {
  static const std::string prefix = std::string(kFolderPrefix) + randomUuid() + "-";
  return prefix;
}

// RocksDB locks a file of a store that is open, and the lock ends with the process; one's own is not seen.
bool isOpenElsewhere(const std::filesystem::path& folder) {
  const int file = ::open((folder / "LOCK").c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return true;  // one that is being made has no lock yet
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const bool known = ::fcntl(file, F_GETLK, &lock) == 0;
  ::close(file);
  return !known || lock.l_type != F_UNLCK;
}

void removeLeftovers(const std::string& temporaryFolder) {
  std::error_code failed, ignored;
  std::filesystem::directory_iterator entry(temporaryFolder, failed);
  for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
    const std::string name = entry->path().filename();
    if (!name.starts_with(kFolderPrefix) || name.starts_with(ownPrefix())) continue;
    if (!isOpenElsewhere(entry->path())) std::filesystem::remove_all(entry->path(), ignored);
  }
}

// A value's head: whether there is a time, and which.
constexpr size_t kHeadBytes = 1 + sizeof(uint64_t);

}  // namespace

ColdTier::ColdTier(std::string temporaryFolder) : temporaryFolder_(std::move(temporaryFolder)) {}

ColdTier::~ColdTier() {
  store_.reset();
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

SortedStore& ColdTier::store() {
  if (SortedStore* made = made_) return *made;
  std::lock_guard lock(mutex_);
  if (!store_) {
    removeLeftovers(temporaryFolder_);
    folder_ = temporaryFolder_ + "/" + ownPrefix() + randomUuid();
    store_ = SortedStore::open(folder_, {});
    made_ = store_.get();
  }
  return *store_;
}

ColdPartition::ColdPartition(ColdTier& tier, uint32_t number)
    : tier_(tier), number_(number), emptyBatchBytes_(batch_.sizeBytes()) {}

std::string ColdPartition::valueKey(std::string_view key) const {
  return prefixOf(kValues, number_).append(key);
}

std::string ColdPartition::timeKey(int64_t time, std::string_view key) const {
  std::string bytes = prefixOf(kTimes, number_);
  appendBigEndian(sortable(time), &bytes);
  return bytes.append(key);
}

void ColdPartition::put(std::string_view key, std::string_view value, std::optional<int64_t> time) {
  std::string stored(1, time ? 1 : 0);
  appendBigEndian(time ? sortable(*time) : 0, &stored);
  stored.append(value);
  batch_.put(valueKey(key), stored);
  if (time) {
    batch_.put(timeKey(*time, key), {});
    firstTime_ = std::min(firstTime_, *time);
  }
  ++numKeys_;
  flushIfLarge();
}

void ColdPartition::flushIfLarge() {
  if (batch_.sizeBytes() > kBatchBytes) flush();
}

void ColdPartition::flush() {
  taken_.clear();
  if (batch_.sizeBytes() == emptyBatchBytes_) return;
  tier_.store().write(batch_);
  batch_.clear();
}

bool ColdPartition::contains(std::string_view key) const {
  if (numKeys_ == 0 || taken_.contains(std::string(key))) return false;
  std::string ignored;
  return tier_.store().get(valueKey(key), &ignored);
}

bool ColdPartition::take(std::string_view key, std::string* value, std::optional<int64_t>* time) {
  if (numKeys_ == 0) return false;
  const std::string stored = valueKey(key);
  if (taken_.contains(std::string(key)) || !tier_.store().get(stored, value)) return false;
  taken_.emplace(key);
  batch_.remove(stored);
  std::optional<int64_t> itsTime;
  if (value->front() != 0) {
    itsTime = static_cast<int64_t>(loadBigEndian64(std::string_view(*value).substr(1)) ^ (uint64_t{1} << 63));
    batch_.remove(timeKey(*itsTime, key));
  }
  if (time != nullptr) *time = itsTime;
  value->erase(0, kHeadBytes);
  --numKeys_;
  flushIfLarge();
  return true;
}

// What `visit` takes besides, it does not find here again: what has been visited counts as taken.
void ColdPartition::takeByTime(int64_t limit, const std::function<void(std::string_view key)>& visit) {
  if (numKeys_ == 0 || firstTime_ > limit) return;
  flush();
  const auto visitEntry = [&](std::string_view entry, std::string_view) {
    const std::string_view timeAndKey = entry.substr(kPrefixBytes);
    if (loadBigEndian64(timeAndKey) > sortable(limit)) return false;
    const std::string_view key = timeAndKey.substr(sizeof(uint64_t));
    taken_.emplace(key);
    --numKeys_;
    visit(key);
    batch_.remove(valueKey(key));
    batch_.remove(entry);
    flushIfLarge();
    return true;
  };
  tier_.store().forEach(prefixOf(kTimes, number_), visitEntry, timeKey(firstTime_, {}));
  firstTime_ = limit == INT64_MAX ? INT64_MAX : limit + 1;
  flush();
}

void ColdPartition::takeUntil(
    int64_t limit, const std::function<void(std::string_view key, std::string_view value)>& visit) {
  std::string value;
  takeByTime(limit, [&](std::string_view key) {
    const bool isHere = tier_.store().get(valueKey(key), &value);
    THALWEG_ASSERT(isHere);
    visit(key, std::string_view(value).substr(kHeadBytes));
  });
}

void ColdPartition::removeUntil(int64_t limit, const std::function<void(std::string_view key)>& visit) {
  takeByTime(limit, visit);
}

void ColdPartition::forEach(const std::function<bool(std::string_view key, std::string_view value)>& visit) {
  if (numKeys_ == 0) return;
  flush();
  tier_.store().forEach(prefixOf(kValues, number_), [&](std::string_view key, std::string_view value) {
    return visit(key.substr(kPrefixBytes), value.substr(kHeadBytes));
  });
}

void ColdPartition::clear() {
  batch_.clear();
  taken_.clear();
  numKeys_ = 0;
  firstTime_ = INT64_MAX;
  if (!tier_.isMade()) return;
  for (const char kind : {kValues, kTimes}) {
    tier_.store().forEach(prefixOf(kind, number_), [&](std::string_view key, std::string_view) {
      batch_.remove(key);
      flushIfLarge();
      return true;
    });
  }
  flush();
}

ColdSorter::ColdSorter(ColdPartition& partition)
    : tier_(partition.tier_), prefix_(sorterPrefix(partition.number_, partition.numSorters_++)) {}

ColdSorter::~ColdSorter() {
  if (isEmpty_) return;
  try {
    takeAll([](std::string_view, std::string_view) {});
  } catch (const Error& error) {
    logWarn("Entries that were sorted on local disk could not be removed: {}", error.what());
  }
}

void ColdSorter::put(std::string_view key, std::string_view value) {
  isEmpty_ = false;
  batch_.put(prefix_ + std::string(key), value);
  if (batch_.sizeBytes() > kBatchBytes) flush();
}

void ColdSorter::remove(std::string_view key) {
  batch_.remove(prefix_ + std::string(key));
  if (batch_.sizeBytes() > kBatchBytes) flush();
}

void ColdSorter::flush() {
  tier_.store().write(batch_);
  batch_.clear();
}

void ColdSorter::removeIf(const std::function<bool(std::string_view key)>& isUnwanted) {
  if (isEmpty_) return;
  flush();
  tier_.store().forEach(prefix_, [&](std::string_view key, std::string_view) {
    if (isUnwanted(key.substr(prefix_.size()))) remove(key.substr(prefix_.size()));
    return true;
  });
}

void ColdSorter::takeAll(const std::function<void(std::string_view key, std::string_view value)>& visit) {
  if (isEmpty_) return;
  flush();
  tier_.store().forEach(prefix_, [&](std::string_view key, std::string_view value) {
    visit(key.substr(prefix_.size()), value);
    remove(key.substr(prefix_.size()));
    return true;
  });
  flush();
  isEmpty_ = true;
}

}  // namespace thalweg
