// The four stores of a join's state from foreign hands: what a load accepts must hold together.
//
// The input is a list of changes: the store, the kind (odd: removed), the key's and the value's size, a byte
// each, then both.
#include <cstdint>

#include "common/error.h"
#include "exec/state/join_state.h"

namespace {

using namespace thalweg;

JoinStateLayout layout(bool byKey) {
  JoinStateLayout::Side side;
  side.keys = {{"field0", stringType()}, {"field1", timestampType()}};
  side.columns = {{"ts", timestampType()}, {"v", stringType()}};
  if (!byKey) side.expiry = EventTimeKey{0, false};
  return JoinStateLayout({side, side}, byKey ? std::optional(EventTimeKey{1, false}) : std::nullopt);
}

void apply(const std::vector<std::unique_ptr<StorePartition>>& stores, std::string_view bytes) {
  while (bytes.size() >= 4) {
    const auto byte = [&](size_t at) { return static_cast<unsigned char>(bytes[at]); };
    const size_t store = byte(0) % stores.size(), keySize = byte(2), valueSize = byte(3);
    const bool removed = byte(1) % 2 == 1;
    bytes.remove_prefix(4);
    if (bytes.size() < keySize + valueSize) return;
    stores[store]->apply({removed ? StateChange::Kind::Remove : StateChange::Kind::Put,
                          bytes.substr(0, keySize),
                          removed ? std::string_view() : bytes.substr(keySize, valueSize)});
    bytes.remove_prefix(keySize + valueSize);
  }
}

void use(const JoinStateLayout& layout, std::string_view bytes) {
  const auto stores = JoinStore::makeAll(layout);
  for (const auto& store : stores) store->restart();
  apply(stores, bytes);
  for (const auto& store : stores) store->finishLoad();
  size_t sum = 0;
  for (const auto& store : stores)
    store->entries()([&](std::string_view key, std::string_view value) { sum += key.size() + value.size(); });
  JoinState& state = static_cast<JoinStore&>(*stores[0]).state();
  for (const JoinSide side : kJoinSides) {
    std::vector<uint32_t> all;
    state.rows(side).forEach([&](uint32_t row) { all.push_back(row); });
    state.decode(side, all);
  }
  state.takeExpiredKeys(INT64_MAX, [&](const std::array<JoinState::Rows, 2>& rows) {
    for (const JoinSide side : kJoinSides) state.remove(side, rows[static_cast<size_t>(side)]);
  });
  for (const JoinSide side : kJoinSides)
    state.takeExpiredRows(side, INT64_MAX, [&](const JoinState::Rows& rows) { state.remove(side, rows); });
  for (const auto& store : stores) {
    for (const StateChange& change : store->changes()) sum += change.key.size();
    store->changesWritten();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static const JoinStateLayout byRow = layout(false), byKey = layout(true);
  try {
    use(data[0] % 2 == 0 ? byRow : byKey, {reinterpret_cast<const char*>(data + 1), size - 1});
  } catch (const thalweg::Error&) {
  }
  return 0;
}
