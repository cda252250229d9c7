// All state of a streaming query: what its operators keep, held against what its checkpoint says of them.
#pragma once

#include <memory>
#include <vector>

#include "exec/state/operator_state.h"
#include "storage/file_system.h"
#include "streaming/batch/state_columns.h"
#include "streaming/query/progress.h"

namespace thalweg {

// Used on the query's thread. A query without stateful operators has one too; it does nothing then.
class QueryState {
 public:
  // `plan` is made of `query`, the analyzed plan, and outlives it. `context.configuration` is what the offset log has,
  // `context.memoryBytes` that of all operators. Throws Error UNSUPPORTED_FEATURE for settings under which state is laid out in
  // ways that are not built.
  QueryState(const LogicalNode& query, const PhysicalNode& plan, StateContext context);
  ~QueryState();

  // At the start of a query that no batch was planned of. Throws Error STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY where there is
  // state.
  void checkIsEmpty() const;

  // Before a batch runs; the first time, the plan's operators are held against the checkpoint's, and their metadata and schema
  // files are written where they are missing. Throws Error STREAMING_STATEFUL_OPERATOR_*, STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE,
  // …VALUE….
  void prepare(int64_t batchId);

  // Brings the state to where batch `batchId` begins and hands it to the execution, and the watermarks of the
  // operators' inputs, which follow from the query's.
  void bind(int64_t batchId, const BatchWatermarks& watermarks, Execution* execution);
  // Makes the batch's changes durable.
  void commit();
  // After the batch is done: snapshots and old files. Failures are logged, and tried again after a later
  // batch.
  void maintain();

  // Does any operator want a batch without new data, now that the query's watermark has come so far?
  bool wantsAnotherBatch(int64_t usedWatermarkMs, int64_t watermarkMs) const;
  bool isStateful() const { return !operators_.empty(); }
  // Of the last batch, the operator nearest the sink first.
  std::vector<StateOperatorProgress> progress() const;

 private:
  std::vector<int64_t> operatorFolders() const;
  void checkOperators() const;
  void describeOperator(const StatefulNode& node) const;
  void checkFingerprint(const StatefulNode& node) const;
  std::string operatorFolder(int64_t operatorId) const;

  const PhysicalNode& plan_;
  const std::map<int, OperatorColumns> columns_;
  StateContext context_;
  std::vector<std::unique_ptr<OperatorState>> operators_;
  bool prepared_ = false;
};

}  // namespace thalweg
