// Messages' expressions to typed expressions over a scope's columns.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/analyze/analyzer.h"
#include "plan/analyze/scope.h"

namespace google::protobuf {
template <typename Element>
class RepeatedPtrField;
}

namespace thalweg::messages {
class SqlStarExcept;
}

namespace thalweg {

class ExpressionAnalyzer {
 public:
  // Which a name means that both a column and an alias have. Arguments of aggregate functions are columns in any case.
  enum class Prefer { Columns, Aliases };
  // All outlive the analyzer. `aliases` are the items of a select list, which a name may mean too.
  ExpressionAnalyzer(const Scope& scope, const AnalyzerContext& context, const std::vector<ExpressionPtr>* aliases = nullptr,
                     Prefer prefer = Prefer::Columns)
      : scope_(scope), context_(context), aliases_(aliases), prefer_(prefer) {}

  // One value. Stars are refused.
  ExpressionPtr resolve(const spark::connect::Expression& message) const;

  // A select list's entry: zero or more named expressions (Attributes and Aliases), stars expanded, names given as Spark
  // gives them.
  std::vector<ExpressionPtr> resolveNamed(const spark::connect::Expression& message) const;

  // A whole select list. An item may name the aliases of items before it.
  std::vector<ExpressionPtr> resolveList(const google::protobuf::RepeatedPtrField<spark::connect::Expression>& messages) const;

 private:
  ExpressionPtr resolveAttribute(const spark::connect::Expression& message) const;
  ExpressionPtr resolveCall(const std::string& name, const std::vector<const spark::connect::Expression*>& arguments, bool distinct,
                            std::vector<ExpressionPtr> withinGroup = {}) const;
  ExpressionPtr resolveCast(const spark::connect::Expression& message) const;
  ExpressionPtr resolveExtract(const spark::connect::Expression& message) const;
  ExpressionPtr resolveExtension(const spark::connect::Expression& message) const;
  ExpressionPtr findAlias(const std::vector<std::string>& parts) const;
  std::vector<ExpressionPtr> expandExcept(const messages::SqlStarExcept& except) const;
  const Scope& scope_;
  const AnalyzerContext& context_;
  const std::vector<ExpressionPtr>* aliases_;
  Prefer prefer_;
};

// Gives an expression the name that Spark gives an unnamed column of a select list.
ExpressionPtr named(const ExpressionPtr& expression);

// Aggregate functions in the expression count only rows where the filter is true. Throws Error INVALID_AGGREGATE_FILTER.….
ExpressionPtr withFilter(const ExpressionPtr& expression, const ExpressionPtr& filter);

// A SortOrder from its message, Spark's default null order filled in.
ExpressionPtr sortOrder(const ExpressionPtr& child, bool ascending, std::optional<bool> nullsFirst);

}  // namespace thalweg
