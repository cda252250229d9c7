#include "exec/pipeline/write.h"

#include <arrow/record_batch.h>

#include "exec/operators/exchange.h"
#include "expr/nodes.h"

namespace thalweg {

namespace {

// A node of a plan as a child of another, which does not own it.
PhysicalPtr borrowed(const PhysicalNode& plan) {
  return PhysicalPtr(PhysicalPtr(), &plan);
}

// The plan with an exchange above it where the sink wants its rows so; null: as it is.
PhysicalPtr gathered(const PhysicalNode& plan, const BatchWrite& write) {
  const auto wanted = write.gathering();
  if (!wanted) return nullptr;
  RowSpread spread;
  spread.kind = wanted->columns.empty() ? RowSpread::Kind::RoundRobin : RowSpread::Kind::Hashed;
  spread.partitionBytes = wanted->bytes;
  for (const int column : wanted->columns) {
    const StructField& field = plan.schema()->fields()[static_cast<size_t>(column)];
    spread.keys.push_back(std::make_shared<BoundReference>(column, field.type, field.nullable, field.name));
  }
  return std::make_shared<PhysicalExchange>(std::move(spread), borrowed(plan));
}

}  // namespace

void writeRows(const PhysicalNode& plan, Execution& execution, BatchWrite& write, const std::function<void()>& beforeCommit) {
  try {
    const PhysicalPtr gathering = gathered(plan, write);
    const auto running = (gathering ? *gathering : plan).start(execution);
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
