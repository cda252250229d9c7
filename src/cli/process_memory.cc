#include "cli/process_memory.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

namespace thalweg::cli {

void setUpMemory() {
  setenv("ARROW_DEFAULT_MEMORY_POOL", "system", /*overwrite=*/0);
  // One arena a core: rows are fetched on one thread and freed on another, and each arena keeps what is freed
  // in it.
  const int arenas = static_cast<int>(std::max(2U, std::thread::hardware_concurrency()));
  if (std::getenv("MALLOC_ARENA_MAX") == nullptr) mallopt(M_ARENA_MAX, arenas);
}

}  // namespace thalweg::cli
