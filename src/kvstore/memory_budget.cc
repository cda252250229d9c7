#include "kvstore/memory_budget.h"

#include <mutex>

#include <rocksdb/cache.h>
#include <rocksdb/write_buffer_manager.h>

#include "kvstore/shared_memory.h"

namespace thalweg {
namespace {

constexpr int64_t kDefaultBytes = 64 << 20;

std::mutex mutex;
SharedStoreMemory shared;

SharedStoreMemory make(int64_t bytes) {
  SharedStoreMemory memory;
  memory.cache = rocksdb::NewLRUCache(static_cast<size_t>(bytes));
  memory.writeBuffers =
      std::make_shared<rocksdb::WriteBufferManager>(static_cast<size_t>(bytes / 2), memory.cache);
  return memory;
}

}  // namespace

void setSortedStoreMemory(int64_t bytes) {
  std::lock_guard lock(mutex);
  shared = make(bytes);
}

SharedStoreMemory sharedStoreMemory() {
  std::lock_guard lock(mutex);
  if (!shared.cache) shared = make(kDefaultBytes);
  return shared;
}

}  // namespace thalweg
