// DELETE and UPDATE, and single expressions over a table's columns.
#pragma once

#include <string>
#include <vector>

#include "plan/analyze/analyzer.h"
#include "plan/logical/row_changes.h"
#include "sql/statements.h"

namespace thalweg {

// A table's columns under the name that expressions may qualify them with.
std::vector<AttributePtr> tableColumns(const Schema& schema, const std::vector<std::string>& qualifier);

// `columns` are the table's (tableColumns), by their alias where the statement gives one. Throws Error for
// names that do not resolve, DELTA_UNSUPPORTED_SUBQUERY, INVALID_NON_DETERMINISTIC_EXPRESSIONS,
// UNSUPPORTED_EXPR_FOR_OPERATOR, DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN.
LogicalDelete analyzeDelete(const sql::Delete& statement, std::vector<AttributePtr> columns,
                            const AnalyzerContext& context);

// As analyzeDelete. Values get the columns' types by the rules of an INSERT, but structs
// by their fields' names (fieldsByName). DEFAULT is the column's default
// (the field's CURRENT_DEFAULT), or null. Also throws Error DELTA_CONFLICT_SET_COLUMN for a column that is
// set twice.
LogicalUpdate analyzeUpdate(const sql::Update& statement, std::vector<AttributePtr> columns,
                            const AnalyzerContext& context);

// One expression of a statement, or its SQL text, over the columns. Neither aggregates nor subqueries.
ExpressionPtr analyzeExpression(const spark::connect::Expression& message,
                                const std::vector<AttributePtr>& columns, const AnalyzerContext& context);
ExpressionPtr analyzeExpression(const std::string& text, const std::vector<AttributePtr>& columns,
                                const AnalyzerContext& context);
// As analyzeExpression, and it must be a condition: deterministic, boolean.
ExpressionPtr analyzeCondition(const spark::connect::Expression& message,
                               const std::vector<AttributePtr>& columns, const AnalyzerContext& context);

ExpressionPtr analyzeCondition(const std::string& text, const std::vector<AttributePtr>& columns,
                               const AnalyzerContext& context);

// DEFAULT as a value in the VALUES of an INSERT becomes its column's: `columns` are those that the values are
// for, in their order (fewer, where there are too many values).
void fillDefaults(spark::connect::Relation* query, const std::vector<StructField>& columns);

// A value for a column, by the rules of an INSERT: cast where it may be, an error where a value does not fit.
// Throws Error DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION.
ExpressionPtr assignedTo(const ExpressionPtr& value, const StructField& column);

}  // namespace thalweg
