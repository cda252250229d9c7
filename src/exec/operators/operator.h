// Physical operators: built once from a logical plan, started once an execution.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "exec/pipeline/execution.h"
#include "types/data_type.h"

namespace thalweg {

class PhysicalNode;
using PhysicalPtr = std::shared_ptr<const PhysicalNode>;

// Immutable; may be started many times, also at once. Expressions in it are bound to its children's columns.
class PhysicalNode {
 public:
  virtual ~PhysicalNode() = default;
  const SchemaPtr& schema() const { return schema_; }
  const std::vector<PhysicalPtr>& children() const { return children_; }
  virtual std::unique_ptr<RunningOperator> start(Execution& execution) const = 0;
  virtual std::string describe() const = 0;

 protected:
  PhysicalNode(SchemaPtr schema, std::vector<PhysicalPtr> children) : schema_(std::move(schema)), children_(std::move(children)) {}

 private:
  SchemaPtr schema_;
  std::vector<PhysicalPtr> children_;
};

// A plan as explain prints it.
std::string physicalTreeString(const PhysicalNode& node);

// An operator that turns each of its child's batches into one of its own, partition by partition.
class BatchTransform : public PhysicalNode {
 public:
  std::unique_ptr<RunningOperator> start(Execution& execution) const override;
  // A batch without rows may be left out. Called by many threads at once.
  virtual std::shared_ptr<arrow::RecordBatch> transform(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                        const EvaluationContext& context) const = 0;

 protected:
  using PhysicalNode::PhysicalNode;
};

// A running operator with one partition whose batches are made when it is first read.
class SinglePartition : public RunningOperator {
 public:
  int numPartitions() const override { return 1; }
  std::unique_ptr<BatchReader> open(int partition) override;

 protected:
  virtual std::vector<std::shared_ptr<arrow::RecordBatch>> produce() = 0;
};

// Runs an operator whose readers each wrap one of the input's, partition by partition. `wrap` may be called by many threads
// at once, and lives as long as what is returned.
using WrapReader = std::function<std::unique_ptr<BatchReader>(std::unique_ptr<BatchReader> input, int partition)>;
std::unique_ptr<RunningOperator> wrapReaders(std::unique_ptr<RunningOperator> input, WrapReader wrap);

// Yields batches that are there already.
std::unique_ptr<BatchReader> readBatches(std::vector<std::shared_ptr<arrow::RecordBatch>> batches);

}  // namespace thalweg
