// observe(): what may be observed.
#include <algorithm>

#include <spark/connect/relations.pb.h>

#include "common/error.h"
#include "expr/aggregate.h"
#include "plan/analyze/relations.h"
#include "plan/logical/collect_metrics.h"

namespace thalweg {
namespace {

namespace proto = spark::connect;

[[noreturn]] void refuse(const char* condition, const std::string& text, const Expression& metric) {
  throw Error(std::string("INVALID_OBSERVED_METRICS.") + condition, text + ": " + metric.toString() + ".",
              {{"expr", "\"" + metric.toString() + "\""}});
}

// Everything of a metric that no aggregate function covers is the same for all rows.
void checkMetric(const Expression& part, const Expression& metric) {
  if (part.kind() == ExpressionKind::Aggregate) {
    if (static_cast<const AggregateCall&>(part).spec().distinct)
      refuse("AGGREGATE_EXPRESSION_WITH_DISTINCT_UNSUPPORTED",
             "An observed metric aggregates distinct values", metric);
    for (const ExpressionPtr& argument : part.children()) {
      if (containsAggregate(*argument))
        refuse("NESTED_AGGREGATES_UNSUPPORTED", "An observed metric aggregates an aggregate", metric);
    }
    return;
  }
  if (part.kind() == ExpressionKind::Attribute)
    refuse("NON_AGGREGATE_FUNC_ARG_IS_ATTRIBUTE",
           "An observed metric has a column outside of aggregate functions", metric);
  const auto& parts = part.children();
  const bool changes =
      !part.deterministic() &&
      std::all_of(parts.begin(), parts.end(), [](const ExpressionPtr& one) { return one->deterministic(); });
  if (changes)
    refuse("NON_AGGREGATE_FUNC_ARG_IS_NON_DETERMINISTIC",
           "An observed metric has a value that changes from row to row", metric);
  for (const ExpressionPtr& child : part.children()) checkMetric(*child, metric);
}

}  // namespace

LogicalPtr RelationAnalyzer::collectMetrics(const proto::Relation& relation) {
  const auto& message = relation.collect_metrics();
  if (message.name().empty()) {
    throw Error("INVALID_OBSERVED_METRICS.MISSING_NAME", "observe() takes a name that is not empty.",
                {{"operator", "CollectMetrics"}});
  }
  LogicalPtr child = analyze(message.input());
  const Scope scope = scopeOf(*child);
  const ExpressionAnalyzer expressions(scope, context_);
  std::vector<ExpressionPtr> metrics;
  std::string text;
  for (const auto& metric : message.metrics()) {
    for (const ExpressionPtr& one : expressions.resolveNamed(metric)) {
      refuseTimeWindow(*one, "observe()");
      metrics.push_back(named(one));
      checkMetric(*metrics.back(), *metrics.back());
      text += metrics.back()->toString() + ",";
    }
  }
  const auto [known, isNew] = metricsOfName_.emplace(message.name(), text);
  if (!isNew && known->second != text) {
    throw Error("DUPLICATED_METRICS_NAME",
                "The plan observes different metrics under one name, '" + message.name() +
                    "'. Give each a name of its own.",
                {{"metricName", message.name()}});
  }
  return std::make_shared<LogicalCollectMetrics>(message.name(), relation.common().plan_id(),
                                                 std::move(metrics), std::move(child));
}

}  // namespace thalweg
