// Leaves: tables, streaming sources, rows in memory, ranges.
#pragma once

#include "connector/table.h"
#include "exec/operators/operator.h"
#include "expr/expression.h"

namespace thalweg {

// Reads columns of one version of a table: the one that the execution binds, or the plan's. A partition a split.
class PhysicalTableScan final : public PhysicalNode {
 public:
  PhysicalTableScan(SchemaPtr schema, std::shared_ptr<Table> table, std::vector<int> columns, std::vector<ExpressionPtr> conditions);
  std::unique_ptr<RunningOperator> start(Execution& execution) const override;
  std::string describe() const override;

 private:
  std::shared_ptr<Table> table_;
  std::vector<int> columns_;
  std::vector<ExpressionPtr> conditions_;  // with which files are left out
};

// Reads what the execution binds to streaming source number `sourceIndex`, and counts its rows there.
class PhysicalStreamScan final : public PhysicalNode {
 public:
  PhysicalStreamScan(SchemaPtr schema, std::string format, int sourceIndex, std::vector<int> columns);
  std::unique_ptr<RunningOperator> start(Execution& execution) const override;
  std::string describe() const override;
  int sourceIndex() const { return sourceIndex_; }

 private:
  std::string format_;
  int sourceIndex_;
  std::vector<int> columns_;
};

class PhysicalLocalRelation final : public PhysicalNode {
 public:
  PhysicalLocalRelation(SchemaPtr schema, std::vector<std::shared_ptr<arrow::RecordBatch>> batches);
  std::unique_ptr<RunningOperator> start(Execution& execution) const override;
  std::string describe() const override { return "LocalTableScan"; }

 private:
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches_;
};

class PhysicalRange final : public PhysicalNode {
 public:
  PhysicalRange(SchemaPtr schema, int64_t start, int64_t end, int64_t step, int partitions);
  std::unique_ptr<RunningOperator> start(Execution& execution) const override;
  std::string describe() const override;

 private:
  int64_t start_, end_, step_;
  int partitions_;
};

}  // namespace thalweg
