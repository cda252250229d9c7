// A Delta table as a streaming query's output: each batch is in the table once, whatever is replayed.
#pragma once

#include <memory>
#include <string>

#include "connector/sink.h"
#include "sinks/delta/delta_write.h"

namespace thalweg {

// Every batch, also one without rows, is one commit "STREAMING UPDATE" with txn{appId = query id, version =
// batch id}; a replayed batch whose id is the table's newest is skipped, and one whose id the table has
// otherwise is refused, before it is planned where it can be: Error STREAMING_CHECKPOINT_BEHIND_SINK. The
// table is made by the first batch where it is missing, and by no later one: a query whose table was dropped,
// replaced or removed ends with Error DELTA_TABLE_NOT_FOUND and writes nothing in its place. Complete mode
// replaces all rows in the batch's commit. In update mode a row takes the place of its group's earlier one,
// by the options' key columns (all rows that have the key go, also those that others wrote); others may
// append, delete, optimize and vacuum all the time. Without key columns update mode only adds rows.
class DeltaStreamSink : public StreamSink {
 public:
  DeltaStreamSink(std::shared_ptr<delta::DeltaLog> log, DeltaWriteOptions options,
                  DeltaWriteEngine engine = {});

  std::string description() const override;
  void validate(OutputMode mode, const Schema& schema) override;
  void checkUnwritten(const StreamBatch& batch) override;
  std::unique_ptr<BatchWrite> beginBatch(const StreamBatch& batch) override;

 private:
  std::shared_ptr<delta::DeltaLog> log_;
  DeltaWriteOptions options_;
  // Throws where the table has a later batch of the query, or one that it cannot have; true where it has
  // this.
  bool isWritten(const delta::Snapshot& snapshot, const StreamBatch& batch) const;
  // Throws where the log is not of the table that this run began with.
  void checkSameTable(const delta::Snapshot* snapshot, const StreamBatch& batch);

  DeltaWriteRequest requestFor(OutputMode mode, SchemaPtr schema);

  DeltaWriteEngine engine_;
  std::shared_ptr<delta::UpsertKey> upsertKey_;  // kept for its cache of where rows lie
  std::string tableId_;                          // empty until the table is met
  bool wrote_ = false;  // a batch of this run began, and so is in the table when the next one begins
};

}  // namespace thalweg
