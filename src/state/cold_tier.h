// What of a query's state has no room in memory: bytes by key on local disk, for as long as the query runs.
//
// It is not durable and needs not be: a checkpoint's change files and snapshots hold all state, hot or cold.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "kvstore/sorted_store.h"

namespace thalweg {

// The cold state of one operator. Its store is made when the first key goes there, in a folder of its own
// below `temporaryFolder`, and removed with it; what killed processes left there goes then too. Safe on any
// thread.
class ColdTier {
 public:
  explicit ColdTier(std::string temporaryFolder);
  ~ColdTier();

 private:
  friend class ColdPartition;
  friend class ColdSorter;
  bool isMade() const { return made_ != nullptr; }
  SortedStore& store();

  const std::string temporaryFolder_;
  std::mutex mutex_;
  std::string folder_;  // empty until made
  std::unique_ptr<SortedStore> store_;
  std::atomic<SortedStore*> made_{nullptr};  // store_, for those who only use it
};

// One partition of it. A key is here once. Used by one thread at a time; different ones of a tier at the same
// time. Failures throw Error STORAGE_FAILURE.
class ColdPartition {
 public:
  // The tier outlives it. Partitions of a tier have different numbers.
  ColdPartition(ColdTier& tier, uint32_t number);

  int64_t numKeys() const { return numKeys_; }
  // The key must not be here. With a time it can be taken by it. What is put is found from the next flush on.
  void put(std::string_view key, std::string_view value, std::optional<int64_t> time);
  void flush();
  // Any number of threads at once, while nobody changes the partition.
  bool contains(std::string_view key) const;
  // Moves a key's value out; false where it is not here.
  bool take(std::string_view key, std::string* value, std::optional<int64_t>* time = nullptr);
  // Moves out all whose time is not after `limit`, earliest first; with or without a look at their values.
  // `visit` may take other keys, not put any.
  void takeUntil(int64_t limit,
                 const std::function<void(std::string_view key, std::string_view value)>& visit);
  void removeUntil(int64_t limit, const std::function<void(std::string_view key)>& visit);
  // In the order of the keys' bytes, until `visit` returns false.
  void forEach(const std::function<bool(std::string_view key, std::string_view value)>& visit);
  void clear();

 private:
  friend class ColdSorter;
  std::string valueKey(std::string_view key) const;
  std::string timeKey(int64_t time, std::string_view key) const;
  void takeByTime(int64_t limit, const std::function<void(std::string_view key)>& visit);
  void flushIfLarge();

  ColdTier& tier_;
  const uint32_t number_;
  SortedStoreBatch batch_;
  const int64_t emptyBatchBytes_;
  std::unordered_set<std::string> taken_;  // since the last flush: the store has them still
  int64_t numKeys_ = 0;
  int64_t firstTime_ = INT64_MAX;  // no key has an earlier one
  uint32_t numSorters_ = 0;        // that there were
};

// Entries that need an order and have no room for it: put in any, read once in that of their keys' bytes.
// They lie beside those of a partition, which outlives it and has one sorter at a time; what is not read goes
// with the sorter. Used by one thread. Failures throw Error STORAGE_FAILURE.
class ColdSorter {
 public:
  explicit ColdSorter(ColdPartition& partition);
  ~ColdSorter();

  // The last call of a key counts.
  void put(std::string_view key, std::string_view value);
  void remove(std::string_view key);
  void removeIf(const std::function<bool(std::string_view key)>& isUnwanted);
  void takeAll(const std::function<void(std::string_view key, std::string_view value)>& visit);

 private:
  void flush();

  ColdTier& tier_;
  const std::string prefix_;
  SortedStoreBatch batch_;
  bool isEmpty_ = true;
};

}  // namespace thalweg
