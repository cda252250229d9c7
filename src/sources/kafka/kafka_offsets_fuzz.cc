#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "common/error.h"
#include "sources/kafka/partition_offsets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto offsets = thalweg::parsePartitionOffsets(text, "fuzz");
    if (thalweg::parsePartitionOffsets(thalweg::formatPartitionOffsets(offsets), "fuzz") != offsets) std::abort();
  } catch (const thalweg::Error&) {
  }
  try {
    thalweg::parsePartitions(text, "fuzz");
  } catch (const thalweg::Error&) {
  }
  return 0;
}
