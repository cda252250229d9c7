// One partition of a deduplication's state: the keys that have come, and when they may be forgotten.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "columnar/binary_key_table.h"
#include "columnar/binary_row.h"
#include "exec/state/aggregate_state_layout.h"
#include "exec/state/expiry_panes.h"
#include "exec/state/operator_state.h"

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
};

// Key numbers are the table's; keys that have no room are in the cold tier alone, and stay there until they end. Used by one
// thread, but lookUp().
class DedupState final : public StorePartition {
 public:
  // The layout outlives it.
  explicit DedupState(const DedupStateLayout& layout) : layout_(layout) {}

  void setRoom(ColdPartition* cold, int64_t bytes) override;
  void restart() override;
  void apply(const StateChange& change) override;
  void finishLoad() override;
  std::vector<StateChange> changes() override;
  void changesWritten() override;
  StateEntries entries() const override;
  int64_t numKeys() const override { return table_.size() + numCold(); }
  int64_t memoryBytes() const override;

  // (*known)[i] = is keys[i] there? Any number of threads at once, while nobody changes the state.
  void lookUp(std::span<const std::string_view> keys, std::vector<uint8_t>* known) const;
  // `added` gets the i of new keys. ends[i]: the watermark with which keys[i] may be forgotten; none: never.
  void add(std::span<const std::string_view> keys, std::span<const std::optional<int64_t>> ends,
           std::vector<uint32_t>* added);
  // Keys that this batch added.
  int64_t numAdded() const { return static_cast<int64_t>(added_.size()); }
  // Forgets the keys whose end is not after `watermarkMicros`, and says how many they were. What it costs
  // follows from how many there are, not from how many are kept.
  int64_t removeEnded(int64_t watermarkMicros);

 private:
  static constexpr int64_t kNoEnd = INT64_MAX;
  int64_t numCold() const { return cold_ == nullptr ? 0 : cold_->numKeys(); }
  int64_t bytesOfLive() const;
  void coolDown();
  void rebuildPanes();
  void moveToCold(std::span<const uint32_t> numbers);
  void moveLoadedToCold();
  void resize();
  void noteEnd(uint32_t number, int64_t endMicros);
  void noteLoadedEnds();
  void remove(uint32_t number);
  void encodeValues(std::span<const uint32_t> numbers, BinaryRows* out) const;

  const DedupStateLayout& layout_;
  BinaryKeyTable table_;
  std::vector<int64_t> ends_;     // by key, where keys end
  // Keys by their ends. One that went to the cold tier is left there, and its number may be another's by now: what comes out
  // counts only where it is live and `ends_` agrees.
  ExpiryPanes panes_;
  bool panesAreStale_ = false;
  std::vector<uint8_t> isAdded_;  // by key: not in the files yet
  std::vector<uint32_t> added_;
  std::vector<std::string> removedKeys_;   // that the files have
  std::vector<std::string> loadedValues_;  // while loading, by key
  BinaryRows addedValues_;

  ColdPartition* cold_ = nullptr;
  int64_t room_ = INT64_MAX;
  uint32_t hand_ = 0;  // where the search for keys to move to the cold tier goes on
};

}  // namespace thalweg
