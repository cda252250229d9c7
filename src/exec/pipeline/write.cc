#include "exec/pipeline/write.h"

#include <arrow/record_batch.h>

namespace thalweg {

void writeRows(const PhysicalNode& plan, Execution& execution, BatchWrite& write, const std::function<void()>& beforeCommit) {
  try {
    const auto running = plan.start(execution);
    execution.pool->runAll(running->numPartitions(), [&](int partition) {
      auto reader = running->open(partition);
      auto writer = write.openTask(partition);
      while (auto batch = reader->next()) {
        execution.cancellation.throwIfCancelled();
        writer->write(batch);
      }
      writer->close();
    });
    execution.cancellation.throwIfCancelled();
    if (beforeCommit) beforeCommit();
  } catch (...) {
    write.abort();
    throw;
  }
  write.commit();
}

}  // namespace thalweg
