#include "kvstore/shared_memory.h"

#include <rocksdb/cache.h>
#include <rocksdb/write_buffer_manager.h>

namespace thalweg {
namespace {

constexpr size_t kSharedBytes = 64 << 20;

}  // namespace

SharedStoreMemory sharedStoreMemory() {
  static const SharedStoreMemory shared = [] {
    SharedStoreMemory memory;
    memory.cache = rocksdb::NewLRUCache(kSharedBytes);
    memory.writeBuffers = std::make_shared<rocksdb::WriteBufferManager>(kSharedBytes / 2, memory.cache);
    return memory;
  }();
  return shared;
}

}  // namespace thalweg
