#include <cstdint>
#include <string_view>

#include "common/error.h"
#include "kafka/jaas.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto entry = thalweg::parseJaas({reinterpret_cast<const char*>(data), size});
    thalweg::mechanismOfLoginModule(entry.loginModule);
  } catch (const thalweg::Error&) {
  }
  return 0;
}
