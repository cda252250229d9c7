// Any bytes as _last_checkpoint: a hint or none; a hint that was read survives writing.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "delta/log/checkpoint_hint.h"
#include "delta/log/log_files.h"

using namespace thalweg::delta;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  parseLogFileName(text);
  checkpointHintChecksum(text);
  if (const auto hint = parseCheckpointHint(text)) {
    const auto again = parseCheckpointHint(toCheckpointHintJson(*hint));
    if (!again || again->version != hint->version || again->parts != hint->parts) std::abort();
  }
  return 0;
}
