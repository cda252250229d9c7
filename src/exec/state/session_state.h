// One partition of a streaming aggregation by sessions: the sessions of each key, their running values as
// columns.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "columnar/binary_key_table.h"
#include "columnar/binary_row.h"
#include "exec/operators/groups.h"
#include "exec/operators/sessions.h"
#include "exec/state/expiry_panes.h"
#include "exec/state/operator_state.h"

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

// Used by one thread.
class SessionState final : public StorePartition {
 public:
  // The layout outlives it.
  explicit SessionState(const SessionStateLayout& layout);

  void restart() override;
  void apply(const StateChange& change) override;
  void finishLoad() override;
  std::vector<StateChange> changes() override;
  void changesWritten() override;
  StateEntries entries() const override;
  int64_t numKeys() const override { return numLive_; }
  int64_t memoryBytes() const override;

  // Adds some of a part's sessions. They are sessions of their own until merge().
  void add(const PartialSessions& part, std::span<const uint32_t> sessions);
  // What a merge did, as Spark counts: all sessions of keys with new ones, and stored ones that went into
  // others.
  struct Merged {
    int64_t updated = 0, removed = 0;
  };
  // Makes one of what touches, in order of their starts.
  Merged merge();

  std::vector<uint32_t> all() const;
  // Sessions whose end is not after `watermarkMicros`. They are no longer found by time: remove them.
  std::vector<uint32_t> takeExpired(int64_t watermarkMicros);
  void remove(std::span<const uint32_t> sessions);
  // The sessions' grouping columns and results as rows of the schema.
  std::vector<std::shared_ptr<arrow::RecordBatch>> results(const Schema& schema,
                                                           std::span<const uint32_t> sessions) const;

 private:
  using Arrays = std::vector<std::shared_ptr<arrow::Array>>;
  enum class Slot : uint8_t { Free, New, Stored };
  static constexpr int64_t kNoPane = INT64_MAX;

  uint32_t newSession(uint32_t key, int64_t start, int64_t end);
  void free(uint32_t session);
  void noteEnd(uint32_t session);
  void noteChanged(uint32_t session);
  void noteRemoved(std::span<const uint32_t> sessions);
  void resize();
  void loadBlock(std::span<const uint32_t> loaded);
  Arrays keyColumns(std::span<const uint32_t> sessions) const;
  Arrays groupingColumns(std::span<const uint32_t> sessions) const;
  void encodeKeys(std::span<const uint32_t> sessions, BinaryRows* out) const;
  void encodeValues(std::span<const uint32_t> sessions, BinaryRows* out) const;

  const SessionStateLayout& layout_;
  BinaryKeyTable keys_;
  std::vector<std::vector<uint32_t>>
      ofKey_;                       // sessions by key, those that are there in order of their starts
  Sessions sessions_;               // by session
  std::vector<uint32_t> keyOf_;     // by session
  std::vector<Slot> slots_;         // by session
  std::vector<uint8_t> isChanged_;  // by session
  std::vector<uint32_t> freeSessions_;
  Aggregators aggregators_;
  int64_t numLive_ = 0;
  // Each session once, by an end that it has or had: when that is passed, it is put there by the one that it has then. A number
  // may be there more than once after it was another session's; `paneEnds_` says which counts.
  ExpiryPanes panes_;
  std::vector<int64_t> paneEnds_;  // by session, kNoPane where it is in none
  std::vector<uint32_t> grownKeys_;  // keys with sessions that merge() has not seen
  std::vector<uint32_t> changed_;
  BinaryRows removedKeys_;  // of sessions that the files have
  BinaryRows changedKeys_, changedValues_;
  BinaryKeyTable loadedKeys_;  // while loading
  std::vector<std::string> loadedValues_;
};

}  // namespace thalweg
