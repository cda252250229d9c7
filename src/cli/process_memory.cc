#include "cli/process_memory.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

// jemalloc's settings, where the program is linked with it: few arenas that soon give back what is free in
// them. Kafka's records are allocated by one thread and freed by others, for which the C library takes a lock
// a record.
extern "C" {
const char* malloc_conf = "narenas:2,dirty_decay_ms:200,muzzy_decay_ms:0";
}

namespace thalweg::cli {

void setUpMemory() {
  setenv("ARROW_DEFAULT_MEMORY_POOL", "system", /*overwrite=*/0);
  // Of the C library's allocator: one arena a core, for each keeps what is freed in it.
  const int arenas = static_cast<int>(std::max(2U, std::thread::hardware_concurrency()));
  if (std::getenv("MALLOC_ARENA_MAX") == nullptr) mallopt(M_ARENA_MAX, arenas);
}

}  // namespace thalweg::cli
