// A scalar function's call: arguments are evaluated, then its kernel runs over them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "expr/expression.h"

namespace thalweg {

// What a kernel may know besides its arguments.
struct KernelContext {
  const Selection& selection;  // rows whose errors count
  int64_t numRows;
  const EvaluationContext& evaluation;
  const DataType& resultType;
};

// Arguments are arrays of numRows values or scalars; the result is an array of numRows values, or a scalar (all arguments
// scalar, or no argument). A kernel is called from many threads at once.
using Kernel = std::function<arrow::Datum(const KernelContext& context, const std::vector<arrow::Datum>& arguments)>;

// What is fixed about a function when a call of it is resolved.
struct FunctionTraits {
  std::string name;            // as Spark prints it
  bool deterministic = true;
  bool oncePerBatch = false;   // current_timestamp: the same for all rows of a batch
  // How a call prints, given its arguments' texts; empty: name(a, b).
  std::function<std::string(const std::vector<std::string>&)> format;
};

class Call final : public Expression {
 public:
  Call(std::shared_ptr<const FunctionTraits> traits, std::vector<ExpressionPtr> arguments, DataTypePtr type, bool nullable,
       Kernel kernel);
  const FunctionTraits& traits() const { return *traits_; }
  arrow::Datum evaluate(const arrow::RecordBatch&, const Selection&, const EvaluationContext&) const override;
  ExpressionPtr withChildren(std::vector<ExpressionPtr> children) const override;
  Foldability foldability() const override;
  bool deterministic() const override;
  std::string toString() const override;

 private:
  std::shared_ptr<const FunctionTraits> traits_;
  Kernel kernel_;
};

}  // namespace thalweg
