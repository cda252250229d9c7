#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "common/error.h"
#include "sources/files/source_log.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto entries = thalweg::parseSourceLog(text, "fuzz");
    if (thalweg::parseSourceLog(thalweg::formatSourceLog(entries), "fuzz") != entries) std::abort();
  } catch (const thalweg::Error&) {
  }
  return 0;
}
