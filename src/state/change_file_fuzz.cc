// Files of state from foreign hands: change logs and snapshots of both providers, archives, metadata,
// schemas.
#include <cstdint>

#include "common/error.h"
#include "state/change_records.h"
#include "state/operator_metadata.h"
#include "state/rocksdb_snapshot.h"
#include "state/state_schema.h"
#include "state/zip_archive.h"

namespace {

// The first byte says what the others are.
void parse(uint8_t kind, std::string_view bytes) {
  using namespace thalweg;
  size_t sum = 0;
  const auto take = [&](const StateChange& change) { sum += change.key.size() + change.value.size(); };
  switch (kind % 7) {
    case 0:
      return readPlainRecords(*openStateDecompressor(StateCodec::Lz4, bytes), take);
    case 1:
      return readChangelog(*openStateDecompressor(StateCodec::Lz4, bytes), take);
    case 2:
      return readChangelog(*openStateDecompressor(StateCodec::Zstd, bytes), take);
    case 3:
      readZip(bytes, 1 << 20);
      return;
    case 4:
      parseSnapshotMetadata(bytes);
      return;
    case 5:
      parseOperatorMetadata(bytes, "file");
      return;
    default:
      parseStateSchema(bytes, "file");
      return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  try {
    parse(data[0], {reinterpret_cast<const char*>(data + 1), size - 1});
  } catch (const thalweg::Error&) {
  }
  return 0;
}
