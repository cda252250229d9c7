// Casts: Spark's conversions between types, under ANSI, TRY and legacy rules.
#pragma once

#include "expr/expression.h"

namespace thalweg {

enum class CastMode {
  Ansi,    // a value that does not fit is an error
  Try,     // …is null
  Legacy,  // …is null, or wraps around between integers (spark.sql.ansi.enabled=false)
};

// True where CAST(from AS to) is allowed at all, in the mode's own table.
bool canCast(const DataType& from, const DataType& to, CastMode mode);

class Cast final : public Expression {
 public:
  // The pair must be allowed (canCast). Implicit casts do not show in column names.
  Cast(ExpressionPtr child, DataTypePtr to, CastMode mode, bool userSpecified = false);
  CastMode mode() const { return mode_; }
  bool userSpecified() const { return userSpecified_; }
  arrow::Datum evaluate(const arrow::RecordBatch&, const Selection&, const EvaluationContext&) const override;
  ExpressionPtr withChildren(std::vector<ExpressionPtr> children) const override;
  Foldability foldability() const override;
  std::string toString() const override;

 private:
  CastMode mode_;
  bool userSpecified_;
};

// The child itself where it has the type already, else a cast of it. Throws Error DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION.
ExpressionPtr castTo(const ExpressionPtr& child, const DataTypePtr& to, CastMode mode, bool userSpecified = false);

// One array cast outside an expression (a sink fitting rows to its table). All rows count.
std::shared_ptr<arrow::Array> castArray(const std::shared_ptr<arrow::Array>& array, const DataType& from, const DataType& to,
                                        CastMode mode, const EvaluationContext& context);

}  // namespace thalweg
