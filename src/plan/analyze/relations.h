// One resolver for all kinds of relations; its methods lie in relations_<group>.cc by group of operators.
#pragma once

#include "plan/analyze/analyzer.h"
#include "plan/analyze/expressions.h"
#include "plan/analyze/scope.h"
#include "plan/logical/join.h"
#include "plan/logical/repartition.h"

namespace spark::connect {
class Aggregate_Pivot;
class Join;
class LateralJoin;
class Sort;
class UnresolvedTableValuedFunction;
}  // namespace spark::connect

namespace thalweg::messages {
class SqlAggregate;
class SqlValues;
}  // namespace thalweg::messages

namespace thalweg {

class RelationAnalyzer {
 public:
  explicit RelationAnalyzer(const AnalyzerContext& context);
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
  LogicalPtr tableFunction(const spark::connect::Relation& relation);
  static bool isTableChanges(const spark::connect::UnresolvedTableValuedFunction& call);
  LogicalPtr tableChanges(const spark::connect::UnresolvedTableValuedFunction& call);
  // A generator called in FROM, over the rows of `child`. Without names the columns have the generator's own.
  LogicalPtr generate(const spark::connect::UnresolvedTableValuedFunction& call, const LogicalPtr& child, bool outer,
                      const std::vector<std::string>& names, const std::vector<std::string>& qualifier);
  LogicalPtr lateralJoin(const spark::connect::LateralJoin& message);

  // what SQL text adds
  LogicalPtr extension(const spark::connect::Relation& relation);
  LogicalPtr withRelations(const spark::connect::Relation& relation);
  LogicalPtr sqlAggregate(const messages::SqlAggregate& message);
  LogicalPtr sqlValues(const messages::SqlValues& message);
  // The plan of a WITH that is in force here; null where the name means none.
  LogicalPtr findNamedRelation(const std::vector<std::string>& name) const;

  // columns
  LogicalPtr project(const spark::connect::Relation& relation);
  LogicalPtr filter(const spark::connect::Relation& relation);
  LogicalPtr withColumns(const spark::connect::Relation& relation);
  LogicalPtr withColumnsRenamed(const spark::connect::Relation& relation);
  LogicalPtr drop(const spark::connect::Relation& relation);
  LogicalPtr toDf(const spark::connect::Relation& relation);
  LogicalPtr toSchema(const spark::connect::Relation& relation);
  LogicalPtr subqueryAlias(const spark::connect::Relation& relation);

  // SELECT without FROM: one row, none of whose columns has a name.
  static LogicalPtr singleRow();
  // A condition as a boolean. Throws Error DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN.
  static ExpressionPtr booleanCondition(const ExpressionPtr& condition);

  static ExpressionPtr filterCondition(const ExpressionAnalyzer& expressions, const spark::connect::Expression& message);

  // rows
  LogicalPtr aggregate(const spark::connect::Relation& relation);
  // The results of a pivot in place of `aggregates`.
  std::vector<ExpressionPtr> pivoted(const spark::connect::Aggregate_Pivot& pivot, const std::vector<ExpressionPtr>& aggregates,
                                     const LogicalPtr& child);
  std::vector<ExpressionPtr> pivotValues(const ExpressionPtr& column, const LogicalPtr& child);
  LogicalPtr deduplicate(const spark::connect::Relation& relation);
  LogicalPtr setOperation(const spark::connect::Relation& relation);
  LogicalPtr sort(const spark::connect::Relation& relation);
  LogicalPtr sortByAll(const spark::connect::Sort& sort, const LogicalPtr& child) const;
  LogicalPtr sortAggregate(const spark::connect::Sort& sort, bool global, const LogicalPtr& plan) const;
  // The orders over a scope; integer constants are positions in `positions`.
  std::vector<ExpressionPtr> sortOrders(const spark::connect::Sort& sort, const Scope& scope, const std::vector<AttributePtr>& positions,
                                        const std::vector<ExpressionPtr>* aliases) const;
  LogicalPtr withWatermark(const spark::connect::Relation& relation);
  LogicalPtr collectMetrics(const spark::connect::Relation& relation);
  LogicalPtr showString(const spark::connect::Relation& relation);

  // spread
  LogicalPtr repartition(const spark::connect::Relation& relation);
  LogicalPtr repartitionByExpression(const spark::connect::Relation& relation);
  LogicalPtr hint(const spark::connect::Relation& relation);
  // `numPartitions` 0: as the rows' size says.
  LogicalPtr spreadRows(RowSpread::Kind kind, int numPartitions, std::vector<ExpressionPtr> keys,
                        const LogicalPtr& child) const;

  // joins
  LogicalPtr join(const spark::connect::Join& message);
  LogicalPtr naturalJoin(const spark::connect::Join& message);
  struct JoinSides {
    LogicalPtr left, right;
  };
  // Both sides, with no column in common: one that is on both sides has a new id on the right.
  JoinSides joinSides(const spark::connect::Join& message);
  // A join on equal columns, which come out once: first, then the rest of the left, then of the right.
  LogicalPtr joinUsing(JoinType type, const std::vector<std::string>& names, const JoinSides& sides) const;

  Scope scopeOf(const LogicalNode& node) const { return Scope(node.output(), &planOutputs_, context_.functions.caseSensitive); }

  const AnalyzerContext& context_;
  Scope::PlanOutputs planOutputs_;
  std::vector<std::pair<std::string, LogicalPtr>> namedRelations_;  // the innermost last
  BatchContext constants_;  // for values that analysis itself needs
  std::map<std::string, std::string> metricsOfName_;  // that observe() has been asked for so far
  int depth_ = 0;
};

// SELECT DISTINCT and set operations: over a stream an aggregation, in its state and its rules for output modes, where
// DataFrame.distinct() is a deduplication.
LogicalPtr distinctRows(const LogicalPtr& child);

// Groups and results as a LogicalAggregate: grouping expressions get names, results refer to them. A DataFrame's
// aggregate has its grouping columns before the results.
LogicalPtr makeAggregate(const std::vector<ExpressionPtr>& grouping, std::vector<ExpressionPtr> results, const LogicalPtr& child);

// As makeAggregate; generators among the results stand above the aggregate.
LogicalPtr makeAggregateAndGenerate(const std::vector<ExpressionPtr>& grouping, std::vector<ExpressionPtr> results, const LogicalPtr& child);

// Several groupings at once. The grouping sets as positions in `grouping`; explicit sets name expressions, and those that
// `grouping` has not are added to it.
enum class GroupingType { Rollup, Cube, Sets };
// Of a message's spark.connect.Aggregate.GroupType; empty for one grouping alone.
std::optional<GroupingType> groupingTypeOf(int groupType);
std::vector<std::vector<size_t>> groupingSetsOf(GroupingType type, const std::vector<std::vector<ExpressionPtr>>& sets,
                                                std::vector<ExpressionPtr>* grouping);
// An aggregate over a LogicalExpand.
LogicalPtr makeGroupingSets(std::vector<ExpressionPtr> grouping, std::vector<std::vector<size_t>> sets, std::vector<ExpressionPtr> results,
                            const LogicalPtr& child);

// Gives generators that are items of a select list nodes of their own over `child`, and refers to their columns instead.
// Throws Error UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS for others.
LogicalPtr placeGenerators(std::vector<ExpressionPtr>* list, LogicalPtr child);
bool hasGenerator(const std::vector<ExpressionPtr>& list);

// A position in a select list that an integer literal of GROUP BY or ORDER BY stands for; empty for other expressions.
std::optional<int> ordinalOf(const spark::connect::Expression& expression);

// Gives window(), session_window() and window_time() in the list nodes of their own over `child`, and refers to their columns instead. Throws
// Error _LEGACY_ERROR_TEMP_1039 for two different windows.
LogicalPtr placeTimeWindows(std::vector<ExpressionPtr>* list, LogicalPtr child);
// Throws unsupported() for a window() or window_time() where no node is made for it: select it as a column first.
void refuseTimeWindow(const Expression& expression, const std::string& where);

// Children of a union brought to common types, by position.
LogicalPtr makeUnion(std::vector<LogicalPtr> children, const FunctionContext& functions);

}  // namespace thalweg
