// Entries of schema logs as foreign bytes: read or refused, and what is read is written as it was understood.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "common/error.h"
#include "sources/delta/schema_log_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto entry = thalweg::SchemaLogEntry::parse({reinterpret_cast<const char*>(data), size}, "input");
    if (thalweg::SchemaLogEntry::parse(entry.toText(), "output") != entry) std::abort();
    entry.over({});
  } catch (const thalweg::Error&) {
  }
  return 0;
}
