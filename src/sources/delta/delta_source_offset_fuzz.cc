// Offsets of Delta sources as foreign bytes: read or refused, and what is read is written as it was
// understood.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "common/error.h"
#include "sources/delta/delta_source_offset.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto offset = thalweg::DeltaSourceOffset::parse({reinterpret_cast<const char*>(data), size});
    if (thalweg::DeltaSourceOffset::parse(offset.toJson()) != offset) std::abort();
  } catch (const thalweg::Error&) {
  }
  return 0;
}
