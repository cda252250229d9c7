// The tables that a streaming query reads beside its streams: each batch sees them as they are when it
// begins.
#pragma once

#include <memory>
#include <vector>

#include "exec/pipeline/execution.h"
#include "plan/logical/node.h"

namespace thalweg {

// Used on the query's thread. Tables that are a version for good (time travel, files listed once) stay it.
class StaticTables {
 public:
  StaticTables() = default;
  explicit StaticTables(const LogicalNode& plan);

  // Looks for newer versions and binds them to the execution. A batch that runs again after a crash sees the
  // tables as they are then, as in Spark: the offset log holds streams alone. Throws Error
  // DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS where the plan's columns are no more what they were when the query
  // started; added columns do no harm.
  void bind(Execution* execution);

 private:
  struct StaticTable {
    std::shared_ptr<Table> planned;
    std::shared_ptr<Table> current;
  };
  void collect(const LogicalNode& node);
  std::vector<StaticTable> tables_;
};

}  // namespace thalweg
