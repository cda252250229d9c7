// Typed expressions: what analysis resolves, optimization rewrites and operators evaluate over Arrow batches.
//
// evaluate(batch, selection, context) gives an array with one value a row of the batch, or a scalar where the value is the
// same for all rows. Only selected rows count: values of other rows are arbitrary, and no error arises from them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <arrow/datum.h>
#include <arrow/type_fwd.h>

#include "expr/batch_context.h"
#include "expr/selection.h"
#include "types/data_type.h"

namespace thalweg {

class Expression;
using ExpressionPtr = std::shared_ptr<const Expression>;

// When an expression's value may be computed ahead of the rows.
enum class Foldability {
  Never,         // depends on the row, or differs from call to call (rand)
  OncePerBatch,  // the batch's: current_timestamp
  Always,        // a constant
};

enum class ExpressionKind {
  Literal,
  Attribute,    // a column by id (logical plans)
  Bound,        // a column by position (physical plans)
  Alias,        // a named result (logical plans)
  Cast,
  Call,         // a scalar function
  Aggregate,    // an aggregate function's call (logical plans)
  CaseWhen,
  And,
  Or,
  Field,        // a struct's field
  SortOrder,    // in a sort's list only
  TimeWindow,   // until the analyzer has given it a node
  WindowTime,
  Generator,    // several rows for one, until the analyzer has given it a node
  Grouping,     // grouping() and grouping_id(), until the analyzer knows the grouping sets
};

// Immutable; shared between plans and threads.
class Expression {
 public:
  virtual ~Expression() = default;

  ExpressionKind kind() const { return kind_; }
  const DataTypePtr& type() const { return type_; }
  bool nullable() const { return nullable_; }
  const std::vector<ExpressionPtr>& children() const { return children_; }

  virtual arrow::Datum evaluate(const arrow::RecordBatch& batch, const Selection& selection,
                                const EvaluationContext& context) const = 0;
  // The same expression over other children, of the same number.
  virtual ExpressionPtr withChildren(std::vector<ExpressionPtr> children) const = 0;
  virtual Foldability foldability() const;
  // False where two evaluations of the same row may differ.
  virtual bool deterministic() const;
  // As Spark names a column made of it ("(a + 1)"), and as explain shows it.
  virtual std::string toString() const = 0;

 protected:
  Expression(ExpressionKind kind, DataTypePtr type, bool nullable, std::vector<ExpressionPtr> children)
      : kind_(kind), type_(std::move(type)), nullable_(nullable), children_(std::move(children)) {}

 private:
  ExpressionKind kind_;
  DataTypePtr type_;
  bool nullable_;
  std::vector<ExpressionPtr> children_;
};

// Rewrites bottom-up: `rewrite` gets each node with its new children and returns it or another.
ExpressionPtr transformUp(const ExpressionPtr& expression, const std::function<ExpressionPtr(const ExpressionPtr&)>& rewrite);

// True if the predicate holds for the expression or anything below it.
bool anyOf(const Expression& expression, const std::function<bool(const Expression&)>& predicate);

// Evaluates to an array whatever the result's shape: a scalar is repeated for every row.
std::shared_ptr<arrow::Array> evaluateToArray(const Expression& expression, const arrow::RecordBatch& batch,
                                              const Selection& selection, const EvaluationContext& context);

// A constant's value. The expression must be foldable; `context` gives time and zone.
std::shared_ptr<arrow::Scalar> evaluateConstant(const Expression& expression, const EvaluationContext& context);

// A predicate's selected rows: those where it is true (neither false nor null).
Selection selectTrue(const Expression& predicate, const arrow::RecordBatch& batch, const Selection& selection,
                     const EvaluationContext& context);

}  // namespace thalweg
