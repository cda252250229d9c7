// One resolver for all kinds of relations; its methods lie in relations_<group>.cc by group of operators.
#pragma once

#include "plan/analyze/analyzer.h"
#include "plan/analyze/expressions.h"
#include "plan/analyze/scope.h"

namespace thalweg {

class RelationAnalyzer {
 public:
  explicit RelationAnalyzer(const AnalyzerContext& context) : context_(context) {}
  LogicalPtr analyze(const spark::connect::Relation& relation);

 private:
  LogicalPtr analyzeKind(const spark::connect::Relation& relation);

  // leaves
  LogicalPtr read(const spark::connect::Relation& relation);
  LogicalPtr namedTable(const spark::connect::Relation& relation);
  LogicalPtr dataSource(const spark::connect::Relation& relation);
  LogicalPtr localRelation(const std::string& data, const std::string& schema);
  LogicalPtr cachedLocalRelation(const spark::connect::Relation& relation);
  LogicalPtr range(const spark::connect::Relation& relation);
  LogicalPtr sqlText(const spark::connect::Relation& relation);

  // columns
  LogicalPtr project(const spark::connect::Relation& relation);
  LogicalPtr filter(const spark::connect::Relation& relation);
  LogicalPtr withColumns(const spark::connect::Relation& relation);
  LogicalPtr withColumnsRenamed(const spark::connect::Relation& relation);
  LogicalPtr drop(const spark::connect::Relation& relation);
  LogicalPtr toDf(const spark::connect::Relation& relation);
  LogicalPtr toSchema(const spark::connect::Relation& relation);
  LogicalPtr subqueryAlias(const spark::connect::Relation& relation);

  // rows
  LogicalPtr aggregate(const spark::connect::Relation& relation);
  LogicalPtr deduplicate(const spark::connect::Relation& relation);
  LogicalPtr setOperation(const spark::connect::Relation& relation);
  LogicalPtr sort(const spark::connect::Relation& relation);
  LogicalPtr showString(const spark::connect::Relation& relation);

  Scope scopeOf(const LogicalNode& node) const { return Scope(node.output(), &planOutputs_, context_.functions.caseSensitive); }

  const AnalyzerContext& context_;
  Scope::PlanOutputs planOutputs_;
  int depth_ = 0;
};

// Groups and results as a LogicalAggregate: grouping expressions get names, results refer to them. A DataFrame's
// aggregate has its grouping columns before the results.
LogicalPtr makeAggregate(const std::vector<ExpressionPtr>& grouping, std::vector<ExpressionPtr> results, const LogicalPtr& child);

// Children of a union brought to common types, by position.
LogicalPtr makeUnion(std::vector<LogicalPtr> children, const FunctionContext& functions);

}  // namespace thalweg
