// What of a table's rules rests on a column: generated columns and CHECK constraints whose SQL names it.
#pragma once

#include <optional>
#include <string>

#include "delta/actions/actions.h"
#include "delta/files/expression_evaluator.h"
#include "types/data_type.h"

namespace thalweg::delta {

struct DependentRule {
  bool isConstraint = false;  // else a generated column
  std::string name;           // of the constraint or the column
  std::string sql;
};

// The first rule that names the column of `schema`, which is the metadata's; generated columns come first.
// Throws as ExpressionEvaluator::compile.
std::optional<DependentRule> ruleNaming(const Metadata& metadata, const SchemaPtr& schema,
                                        const std::string& column, const ExpressionEvaluator& evaluator);

// For a write that would leave a table with the schema `after`. Throws Error
// DELTA_GENERATED_COLUMNS_DATA_TYPE_MISMATCH or DELTA_CONSTRAINT_DATA_TYPE_MISMATCH where it widens the type
// of a column that a rule names.
void checkWidenedColumns(const Metadata& metadata, const Schema& after, const ExpressionEvaluator& evaluator);

}  // namespace thalweg::delta
