// Any bytes are a deletion vector or an Error; a vector's rows are in order and as many as it says.
#include "common/error.h"
#include "delta/scan/deletion_vector.h"
#include "delta/scan/z85.h"

#include <arrow/array.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  thalweg::delta::decodeZ85(bytes);
  try {
    const auto rows = thalweg::delta::DeletedRows::parse(bytes);
    const auto live = rows->liveRows(0, 4096);
    THALWEG_ASSERT(!live || live->length() < 4096);
    THALWEG_ASSERT(!live || !rows->contains(live->length() == 0 ? -1 : live->Value(0)));
  } catch (const thalweg::Error&) {
  }
  return 0;
}
