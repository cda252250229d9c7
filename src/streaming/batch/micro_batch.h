// The steps of a micro-batch, in the order that makes every crash harmless:
//   plan the range → the sink says that N is new → offsets/N → run → state commits version N + 1 → the sink commits N → commits/N.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/cancellation.h"
#include "exec/operators/operator.h"
#include "streaming/batch/query_state.h"
#include "streaming/batch/static_tables.h"
#include "streaming/checkpoint/checkpoint.h"
#include "streaming/query/definition.h"
#include "streaming/query/progress.h"
#include "streaming/watermark/watermark_tracker.h"

namespace thalweg {

// What one call of runNext did.
enum class BatchOutcome {
  NoData,  // nothing new, and no state that waits: no batch was made
  Ran,     // a batch is committed
};

// Owned by one query, used on its thread.
class MicroBatchExecution {
 public:
  // `statusChanged` is told what the query is about ("Getting offsets from …").
  MicroBatchExecution(StreamingQueryDefinition& definition, Checkpoint& checkpoint, std::string runId,
                      CancellationToken cancellation, std::function<void(const std::string& message)> statusChanged);
  ~MicroBatchExecution();

  // Opens the sources and finds, from the checkpoint, where to go on. Once, first.
  void initialize();
  // Runs the batch that a crash left open, or the next one if there is data, or if the watermark has passed state that only
  // waited for it. `ignoreLimits`: all that there is (trigger once). The batch's report is filled for both outcomes.
  BatchOutcome runNext(bool ignoreLimits, QueryProgress* progress);
  // Fixes the sources' ends where they are now. False: a source cannot.
  bool prepareForAvailableNow();

  // True while the next batch is one that an earlier run planned and did not finish.
  bool isReplaying() const { return replaying_; }

  std::string explain(bool extended) const;

 private:
  struct Range {
    std::vector<std::optional<SourceOffset>> start, end;
  };
  void openSources();
  void restore();
  void openState();
  bool wantsCleanup() const;
  // The offsets of a batch that was planned; throws where this query's sources cannot go on from them.
  OffsetEntry readChecked(int64_t batchId) const;
  bool planRange(bool ignoreLimits, QueryProgress* progress);
  StreamBatch sinkBatch() const;
  void writeOffsets(QueryProgress* progress);
  void runAndCommit(bool hasNewData, QueryProgress* progress);
  void noteEventTimes(const Execution& execution, QueryProgress* progress);
  void purge();
  template <typename F>
  auto timed(QueryProgress* progress, const char* step, F&& f);

  StreamingQueryDefinition& definition_;
  Checkpoint& checkpoint_;
  std::string runId_;
  CancellationToken cancellation_;
  std::function<void(const std::string&)> statusChanged_;

  LogicalPtr plan_;
  StaticTables staticTables_;
  PhysicalPtr physical_;
  SchemaPtr outputSchema_;
  std::vector<std::unique_ptr<StreamSource>> sources_;
  std::vector<int64_t> watermarkDelaysMs_;
  std::optional<WatermarkTracker> watermark_;  // from restore on
  std::optional<QueryState> state_;            // from restore on
  int64_t previousWatermarkMs_ = 0;            // that the batch before the one at hand ran under
  std::optional<int64_t> ranUnderWatermarkMs_;  // of the last batch of this run
  int64_t batchId_ = 0;
  bool replaying_ = false;  // offsets/N is written, commits/N is not
  OffsetEntry entry_;       // of the batch at hand
  std::vector<std::optional<SourceOffset>> committed_;  // ends of the last committed batch
};

}  // namespace thalweg
