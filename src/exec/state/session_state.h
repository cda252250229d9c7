// One partition of a streaming aggregation by sessions: the sessions of each key, their running values as
// columns.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "columnar/binary_row.h"
#include "columnar/binary_row_fields.h"
#include "exec/operators/groups.h"
#include "exec/operators/sessions.h"
#include "exec/state/key_parts.h"
#include "exec/state/operator_state.h"
#include "exec/state/state_keys.h"

namespace thalweg {

// What the state is made of; the same for all its partitions. A stored key is the grouping columns but the
// session, then the session's start; a value is all grouping columns in their order, then the aggregates'
// buffers.
struct SessionStateLayout {
  // `session` numbers the grouping column that is the session; there is at least one other.
  SessionStateLayout(std::vector<StructField> grouping, size_t session, Aggregates aggregates);

  std::vector<StructField> grouping;
  size_t session;
  Aggregates aggregates;
  SchemaPtr keys;  // the grouping columns but the session
  SchemaPtr storedKey, storedValue;
  BinaryRowEncoder keysEncoder, storedKeyEncoder, storedValueEncoder;
  BinaryRowSplitter storedKeys;  // a key, a start
};

// Sessions that one partition of a batch's input gave, each of a window alone: rows of one key and one window
// are one session here, those that touch are not.
struct PartialSessions {
  PartialSessions(const SessionStateLayout& layout, Groups& groups, int numPartitions);

  const Aggregators& aggregators;
  BinaryRows keys;
  Sessions sessions;
  std::vector<std::vector<uint32_t>> ofPartition;  // those that belong to each partition of the state
};

// A key's sessions stay together: it ends with the first of them, and goes to the cold tier with all. Used by
// one thread.
class SessionState final : public StorePartition, private KeyedValues {
 public:
  using Numbers = std::span<const uint32_t>;

  // The layout outlives it.
  explicit SessionState(const SessionStateLayout& layout);

  void setRoom(ColdPartition* cold, StateRoom room) override { keys_.setRoom(cold, room); }
  void restart() override;
  void apply(const StateChange& change) override;
  void finishLoad() override;
  std::vector<StateChange> changes() override;
  void changesWritten() override;
  StateEntries entries() const override;
  int64_t numKeys() const override { return numLive_ + numCold_; }
  int64_t memoryBytes() const override;

  // Adds some of a part's sessions. They are sessions of their own until merge().
  void add(const PartialSessions& part, Numbers sessions);
  // What a merge did, as Spark counts: all sessions of keys with new ones, and stored ones that went into
  // others.
  struct Merged {
    int64_t updated = 0, removed = 0;
  };
  // Makes one of what touches, in order of their starts.
  Merged merge();

  // Removes the sessions whose end is not after `watermarkMicros`, and says how many they were. `leave` sees
  // them before they go, those of the cold tier block by block.
  int64_t removeEnded(int64_t watermarkMicros, const std::function<void(Numbers sessions)>& leave);
  // The sessions' grouping columns and results as rows of the schema.
  std::vector<std::shared_ptr<arrow::RecordBatch>> results(const Schema& schema, Numbers sessions) const;
  std::vector<std::shared_ptr<arrow::RecordBatch>> allResults(const Schema& schema) const;

 private:
  using Arrays = std::vector<std::shared_ptr<arrow::Array>>;
  using Views = std::span<const std::string_view>;
  enum class Slot : uint8_t { Free, New, Stored };

  int64_t liveBytes() const override;
  void moveOut(Numbers keys, ByteStrings* values, std::span<int64_t> ends) override;
  void moveIn(Numbers keys, Views values, std::span<const int64_t> ends) override;
  void renumber(Numbers keys) override;

  uint32_t newSession(uint32_t key, int64_t start, int64_t end);
  void free(uint32_t session);
  void noteEnd(uint32_t key);
  void noteChanged(uint32_t session);
  void noteRemoved(Numbers sessions);
  void remove(Numbers sessions);
  std::vector<uint32_t> all() const;
  std::vector<uint32_t> endedOf(Numbers keys, int64_t watermarkMicros) const;
  void resize();
  void part(const StateChange& change);
  void loadBlock(Numbers loaded);
  // Sessions that the files have, the i-th one keyOf[i]'s.
  void addStored(Numbers keyOf, Views values);
  void addParts(const std::vector<std::string>& keys, std::span<const KeyPart> parts);
  Arrays decodeValues(Views values) const;
  Sessions windowsOf(const Arrays& values) const;
  void forEachCold(const std::function<void(Views values)>& visit) const;
  Arrays keyColumns(Numbers sessions) const;
  Arrays groupingColumns(Numbers sessions) const;
  void encodeKeys(Numbers sessions, BinaryRows* out) const;
  // Stored keys of other sessions, by their stored values.
  void encodeKeys(const Arrays& values, BinaryRows* out) const;
  void encodeValues(Numbers sessions, BinaryRows* out) const;
  void putHot(const std::function<void(std::string_view key, std::string_view value)>& put) const;

  const SessionStateLayout& layout_;
  StateKeys keys_;
  std::vector<std::vector<uint32_t>>
      ofKey_;                       // sessions by key, those that are there in order of their starts
  Sessions sessions_;               // by session
  std::vector<uint32_t> keyOf_;     // by session
  std::vector<Slot> slots_;         // by session
  std::vector<uint8_t> isChanged_;  // by session
  std::vector<uint32_t> freeSessions_;
  Aggregators aggregators_;
  int64_t numLive_ = 0, numCold_ = 0;  // sessions
  std::vector<uint32_t> grownKeys_;    // keys with sessions that merge() has not seen
  std::vector<uint32_t> changed_;
  BinaryRows removedKeys_;  // of sessions that the files have
  BinaryRows changedKeys_, changedValues_;
  BinaryKeyTable loadedKeys_;  // while loading
  std::vector<std::string> loadedValues_;
  int64_t loadedBytes_ = 0;
  std::unique_ptr<KeyParts> parts_;  // of a load without room in memory
};

}  // namespace thalweg
