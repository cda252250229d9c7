// One partition of a deduplication's state: the keys that have come, and when they may be forgotten.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "columnar/binary_row.h"
#include "exec/state/aggregate_state_layout.h"
#include "exec/state/key_loader.h"
#include "exec/state/operator_state.h"
#include "exec/state/state_keys.h"

namespace thalweg {

// What a deduplication's state is made of; the same for all its partitions.
struct DedupStateLayout {
  // How long keys are kept. Spark's values of the store follow from it: a void column named __dummy__, or the
  // time until which the key is kept, in microseconds.
  enum class Keep {
    Always,
    UntilEventTime,  // until the watermark has come to the key's own event time
    UntilExpiry,     // until it has come to the time that is stored with the key
  };
  // `eventTime`: the key column that is the event time, with UntilEventTime.
  DedupStateLayout(std::vector<StructField> keyFields, Keep keep, std::optional<EventTimeKey> eventTime);

  SchemaPtr key, value;
  Keep keep;
  std::optional<EventTimeKey> eventTime;
  BinaryRowEncoder keyEncoder;
  std::string sameValue;  // of all keys; empty where each has its own
};

// Key numbers are those of StateKeys; keys in the cold tier stay there until they end. Used by one thread,
// but lookUp().
class DedupState final : public StorePartition, private KeyedValues {
 public:
  // The layout outlives it.
  explicit DedupState(const DedupStateLayout& layout);

  void setRoom(ColdPartition* cold, StateRoom room) override { keys_.setRoom(cold, room); }
  void restart() override;
  void apply(const StateChange& change) override { loader_.apply(change); }
  void finishLoad() override { loader_.finish(); }
  std::vector<StateChange> changes() override;
  void changesWritten() override;
  StateEntries entries() const override;
  int64_t numKeys() const override { return keys_.numKeys(); }
  int64_t memoryBytes() const override;

  // (*known)[i] = is keys[i] there? Any number of threads at once, while nobody changes the state.
  void lookUp(std::span<const std::string_view> keys, std::vector<uint8_t>* known) const;
  // Of keys that lookUp did not know when the batch began, `added` gets the i of new ones. ends[i]: the
  // watermark with which keys[i] may be forgotten; none: never.
  void add(std::span<const std::string_view> keys, std::span<const std::optional<int64_t>> ends,
           std::vector<uint32_t>* added);
  // Keys that this batch added.
  int64_t numAdded() const { return static_cast<int64_t>(added_.size()); }
  // Forgets the keys whose end is not after `watermarkMicros`, and says how many they were. What it costs
  // follows from how many there are, not from how many are kept.
  int64_t removeEnded(int64_t watermarkMicros);

 private:
  using Numbers = std::span<const uint32_t>;
  int64_t liveBytes() const override { return keys_.table().size(); }
  void moveOut(Numbers numbers, ByteStrings* values, std::span<int64_t> ends) override;
  void moveIn(Numbers numbers, std::span<const std::string_view> values,
              std::span<const int64_t> ends) override;
  void renumber(Numbers numbers) override;
  void endsOf(std::span<const std::string_view> keys, std::span<const std::string_view> values,
              std::span<int64_t> ends) const;
  void encodeValues(Numbers numbers, BinaryRows* out) const;

  const DedupStateLayout& layout_;
  StateKeys keys_;
  KeyLoader loader_;
  std::vector<uint8_t> isAdded_;  // by key: not in the files yet
  std::vector<uint32_t> added_;
  std::vector<std::string> removedKeys_;  // that the files have
  BinaryRows addedValues_;
};

}  // namespace thalweg
