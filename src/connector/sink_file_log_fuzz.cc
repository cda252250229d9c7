#include <cstdint>
#include <string_view>

#include "common/error.h"
#include "connector/sink_file_log.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    thalweg::parseSinkFileLog(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  } catch (const thalweg::Error&) {
  }
  return 0;
}
