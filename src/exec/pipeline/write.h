// Runs a plan into a sink: the one loop of streaming batches and batch writes.
#pragma once

#include <functional>

#include "connector/sink.h"
#include "exec/operators/operator.h"

namespace thalweg {

// Writes all rows of the plan, a task a partition, then calls `beforeCommit` (none: nothing), then commits. A failure or
// cancellation before the commit aborts the write and is rethrown; the commit's own errors are the sink's. Called on the
// query's or the operation's thread.
void writeRows(const PhysicalNode& plan, Execution& execution, BatchWrite& write, const std::function<void()>& beforeCommit = {});

}  // namespace thalweg
