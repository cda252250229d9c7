// Functions that make any number of rows of one: explode, inline, stack. No value can stand for one: the
// analyzer puts a LogicalGenerate below the operator that has it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "expr/expression.h"

namespace thalweg {

// What a generator makes of a batch: the input row of each row made, ascending, and the values, a column a
// field.
struct GeneratedRows {
  std::vector<int32_t> rows;
  std::vector<std::shared_ptr<arrow::Array>> columns;
};

class GeneratorCall final : public Expression {
 public:
  // Called by many threads at once; arguments have one value a row.
  using Kernel = std::function<GeneratedRows(const std::vector<std::shared_ptr<arrow::Array>>& arguments,
                                             int64_t numRows, arrow::MemoryPool* pool)>;
  struct Spec {
    std::string name;
    std::vector<StructField> columns;
    Kernel kernel;
    bool outer = false;  // a row of nulls where it makes none
  };

  GeneratorCall(std::shared_ptr<const Spec> spec, std::vector<ExpressionPtr> arguments);
  const Spec& spec() const { return *spec_; }
  // The same call with other names of its columns. Throws Error UDTF_ALIAS_NUMBER_MISMATCH for another
  // number.
  ExpressionPtr withNames(const std::vector<std::string>& names) const;
  ExpressionPtr asOuter() const;
  arrow::Datum evaluate(const arrow::RecordBatch&, const Selection&, const EvaluationContext&) const override;
  ExpressionPtr withChildren(std::vector<ExpressionPtr> children) const override;
  Foldability foldability() const override { return Foldability::Never; }
  std::string toString() const override;

 private:
  std::shared_ptr<const Spec> spec_;
};

bool containsGenerator(const Expression& expression);

}  // namespace thalweg
