// The contract of a sink: a batch of rows is written by tasks and committed once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "types/data_type.h"

namespace thalweg {

// Of streaming queries, and of batch writes.
enum class OutputMode { Append, Update, Complete };
enum class SaveMode { Append, Overwrite, ErrorIfExists, Ignore };

// Writes the rows of one task. Used by one thread. close() makes them ready for the commit; a writer dropped
// without close leaves nothing that a reader could see.
class TaskWriter {
 public:
  virtual ~TaskWriter() = default;
  virtual void write(const std::shared_ptr<arrow::RecordBatch>& batch) = 0;
  virtual void close() = 0;
};

// One batch being written. openTask may be called from several threads, commit or abort once, after all
// tasks closed.
class BatchWrite {
 public:
  virtual ~BatchWrite() = default;
  virtual std::unique_ptr<TaskWriter> openTask(int taskId) = 0;

  // Publishes all tasks' rows: where the target has a log (Delta, a stream's files) all at once. Throws where
  // another writer was first, and nothing is published then. A lost answer is resolved by reading back; where
  // that fails too, it throws and the rows may be published all the same: no file that they need may be taken
  // away, so abort() is not called after it. A batch of files without a log is published file by file: an
  // error between two takes the others back, a death of the process leaves them
  // (sinks/files/file_batch_write.h).
  virtual void commit() = 0;
  virtual void abort() noexcept = 0;
  // Rows that the batch wrote; −1 where the sink does not count (as in Spark's progress).
  virtual int64_t numOutputRows() const { return -1; }

  // How the rows had better come, so that a few large files become of them: those with equal values in these
  // columns of the batch in one task, tasks of about so many bytes. nullopt: as they are.
  struct Gathering {
    std::vector<int> columns;
    int64_t bytes = 0;
  };
  virtual std::optional<Gathering> gathering() const { return std::nullopt; }
};

struct StreamBatch {
  int64_t batchId = 0;
  std::string queryId;
  std::string runId;
  OutputMode mode = OutputMode::Append;
  SchemaPtr schema;  // of the rows
  // An earlier run planned the batch, and may have written it. One that this run planned cannot be in the
  // sink: see checkUnwritten.
  bool replayed = true;
};

// A streaming query's output. Calls come from the query's thread.
class StreamSink {
 public:
  virtual ~StreamSink() = default;
  // As progress shows it: "DeltaSink[file:/data/t]".
  virtual std::string description() const = 0;
  // Checks at start what can be checked before data flows: the mode, the schema, the target. Throws Error.
  virtual void validate(OutputMode mode, const Schema& schema) = 0;
  // Asked of every batch that this run planned (not replayed), before its offsets are made durable, which is
  // what makes it a replay at the next start. Throws Error STREAMING_CHECKPOINT_BEHIND_SINK where the target
  // has a batch of this number or a later one: another checkpoint wrote it, or this one is an old copy, and
  // the records of this batch would be skipped as written; and what else must be refused before a first
  // batch. A target that keeps no numbers of batches has nothing to check.
  virtual void checkUnwritten(const StreamBatch&) {}
  // Null when the batch is already in the target (a replay after a crash): nothing is to be run.
  virtual std::unique_ptr<BatchWrite> beginBatch(const StreamBatch& batch) = 0;
};

}  // namespace thalweg
