// The rows that a read of state shows of one partition, still as binary rows (columnar/binary_row.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "state/state_files.h"
#include "types/data_type.h"

namespace thalweg {

struct StateRow {
  std::string_view key;
  std::optional<std::string_view> value;  // none: the key was removed
  int64_t batchId = 0;                    // of changes
};

// One row after the other, all of a partition (of changes: of a batch) in memory. Used by one thread.
class StateRows {
 public:
  virtual ~StateRows() = default;
  // None at the end. Views hold until the next call. The first call reads files and throws as StateFiles
  // does; of changes, each call may.
  virtual std::optional<StateRow> next() = 0;
};

// Which version of a store.
struct StateVersionToRead {
  int64_t version = 0;
  std::optional<int64_t> snapshotVersion;  // the one to begin with; none: the newest that will do
};

// A store's entries, ascending by the bytes of their keys.
std::unique_ptr<StateRows> rowsOfVersion(std::unique_ptr<StateFiles> files, StateVersionToRead version);

// One side of a join of two streams: under each key of `counts` ({key} → {number of rows}) the rows that
// `rows` ({key, index} → row) has by the indices 0 to that number. What only one of the two has is not shown,
// as Spark does not. Keys are without their index; `indexedKey` is the schema of those that have it.
std::unique_ptr<StateRows> rowsOfJoinSide(std::unique_ptr<StateFiles> counts,
                                          std::unique_ptr<StateFiles> rows, SchemaPtr indexedKey,
                                          StateVersionToRead version);

// What the batches `first` to `last` changed in a store, in the order of their change files.
std::unique_ptr<StateRows> rowsOfChanges(std::unique_ptr<StateFiles> files, int64_t first, int64_t last);

}  // namespace thalweg
