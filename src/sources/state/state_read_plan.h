// Which state a read of format("statestore") is of: options and checkpoint, brought together.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sources/state/state_columns.h"
#include "sources/state/state_read_options.h"
#include "sources/state/state_rows.h"
#include "state/logged_state.h"
#include "state/state_schema.h"
#include "storage/file_system.h"

namespace thalweg {

// A store of the operator, as the checkpoint describes it.
struct StoreToRead {
  StateStoreId id;  // of partition 0
  StateSchema schema;
  LoggedState logged;
};

// Immutable once made; safe on any thread.
struct StateReadPlan {
  std::shared_ptr<FileSystem> fileSystem;
  StateReadOptions options;
  std::string temporaryFolder;        // of local disk
  StoreToRead store;                  // the rows; of a join's side those by key and index
  std::optional<StoreToRead> counts;  // of a join's side
  StateTableShape shape;
  std::vector<int32_t> partitions;  // all that there are

  std::unique_ptr<StateRows> rows(int32_t partition) const;
};

// `configuration`: what the offset log has for the batch that the options name. Throws as openStateTable
// does.
std::shared_ptr<const StateReadPlan> planStateRead(const Location& checkpoint, StateReadOptions options,
                                                   const std::map<std::string, std::string>& configuration,
                                                   std::string temporaryFolder);

}  // namespace thalweg
