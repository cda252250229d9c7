// Operators that make several rows of one: generators, and rows repeated for grouping sets.
#pragma once

#include "exec/operators/operator.h"
#include "expr/generator.h"

namespace thalweg {

// See LogicalGenerate. Of the child's columns only `kept` come out. Batches are cut, also within a row's
// rows.
class PhysicalGenerate final : public PhysicalNode {
 public:
  PhysicalGenerate(SchemaPtr schema, std::shared_ptr<const GeneratorCall> generator, std::vector<int> kept,
                   PhysicalPtr child);
  std::unique_ptr<RunningOperator> start(Execution& execution) const override;
  std::string describe() const override;

 private:
  std::shared_ptr<const GeneratorCall> generator_;
  std::vector<int> kept_;
};

// A batch for each list of expressions over each of the child's batches.
class PhysicalExpand final : public PhysicalNode {
 public:
  PhysicalExpand(SchemaPtr schema, std::vector<std::vector<ExpressionPtr>> projections, PhysicalPtr child);
  std::unique_ptr<RunningOperator> start(Execution& execution) const override;
  std::string describe() const override;

 private:
  std::vector<std::vector<ExpressionPtr>> projections_;
};

}  // namespace thalweg
