// What all sorted stores of a process together hold in memory.
#pragma once

#include <cstdint>

namespace thalweg {

// Sets the bytes that block caches and write buffers share, at most half of them for write buffers. Takes
// effect for stores opened from then on; 64 MB until it is called. Any thread.
void setSortedStoreMemory(int64_t bytes);

}  // namespace thalweg
