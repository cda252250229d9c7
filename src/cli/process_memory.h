// How the process gets its memory from the system.
#pragma once

namespace thalweg::cli {

// Arrow's buffers and everything else share one allocator (jemalloc's where the program is linked with it, else the C
// library's): a second one beside it keeps tens of megabytes of its own free. An ARROW_DEFAULT_MEMORY_POOL or MALLOC_ARENA_MAX that the user has set stays.
// Called first in main: Arrow reads its choice once.
void setUpMemory();

}  // namespace thalweg::cli
