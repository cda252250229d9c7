// The memory sink: rows of a query kept in the server, shown by a view named as the query. For tests and first tries.
#pragma once

#include <mutex>
#include <vector>

#include "connector/sink.h"
#include "connector/table.h"

namespace thalweg {

// The rows so far, as a table. Any thread.
class MemoryRows final : public Table {
 public:
  explicit MemoryRows(SchemaPtr schema) : schema_(std::move(schema)) {}
  const SchemaPtr& schema() const override { return schema_; }
  std::vector<SplitPtr> planScan(const std::vector<ColumnPredicate>& predicates) const override;
  std::string description() const override { return "memory"; }

  // Adds a batch's rows once, in complete mode in place of all others.
  void add(int64_t batchId, std::vector<std::shared_ptr<arrow::RecordBatch>> rows, bool replace);
  bool has(int64_t batchId) const;

 private:
  SchemaPtr schema_;
  mutable std::mutex mutex_;
  int64_t lastBatch_ = -1;
  std::vector<std::shared_ptr<arrow::RecordBatch>> rows_;
};

class MemorySink final : public StreamSink {
 public:
  explicit MemorySink(std::shared_ptr<MemoryRows> rows) : rows_(std::move(rows)) {}
  std::string description() const override { return "MemorySink"; }
  void validate(OutputMode, const Schema&) override {}
  std::unique_ptr<BatchWrite> beginBatch(const StreamBatch& batch) override;

 private:
  std::shared_ptr<MemoryRows> rows_;
};

}  // namespace thalweg
