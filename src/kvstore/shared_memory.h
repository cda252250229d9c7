// What all sorted stores of a process together hold in memory. Only for kvstore's own files.
#pragma once

#include <memory>

namespace rocksdb {
class Cache;
class WriteBufferManager;
}  // namespace rocksdb

namespace thalweg {

struct SharedStoreMemory {
  std::shared_ptr<rocksdb::Cache> cache;
  std::shared_ptr<rocksdb::WriteBufferManager> writeBuffers;  // charged to the cache
};

// Block caches and write buffers share 64 MB, at most half of them for write buffers. Any thread.
SharedStoreMemory sharedStoreMemory();

}  // namespace thalweg
