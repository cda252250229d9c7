// Messages' expressions to typed expressions over a scope's columns.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/analyze/analyzer.h"
#include "plan/analyze/scope.h"

namespace thalweg {

class ExpressionAnalyzer {
 public:
  // Both outlive the analyzer.
  ExpressionAnalyzer(const Scope& scope, const AnalyzerContext& context) : scope_(scope), context_(context) {}

  // One value. Stars are refused.
  ExpressionPtr resolve(const spark::connect::Expression& message) const;

  // A select list's entry: zero or more named expressions (Attributes and Aliases), stars expanded, names given as Spark
  // gives them.
  std::vector<ExpressionPtr> resolveNamed(const spark::connect::Expression& message) const;

 private:
  ExpressionPtr resolveAttribute(const spark::connect::Expression& message) const;
  ExpressionPtr resolveCall(const std::string& name, const std::vector<const spark::connect::Expression*>& arguments,
                            bool distinct) const;
  ExpressionPtr resolveCast(const spark::connect::Expression& message) const;
  ExpressionPtr resolveExtract(const spark::connect::Expression& message) const;
  const Scope& scope_;
  const AnalyzerContext& context_;
};

// Gives an expression the name that Spark gives an unnamed column of a select list.
ExpressionPtr named(const ExpressionPtr& expression);

// A SortOrder from its message, Spark's default null order filled in.
ExpressionPtr sortOrder(const ExpressionPtr& child, bool ascending, std::optional<bool> nullsFirst);

}  // namespace thalweg
