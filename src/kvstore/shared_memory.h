// The one cache and write-buffer budget behind memory_budget.h. Only for kvstore's own files.
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

SharedStoreMemory sharedStoreMemory();

}  // namespace thalweg
