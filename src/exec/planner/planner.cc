#include "exec/planner/planner.h"

#include <algorithm>
#include <unordered_map>

#include <arrow/api.h>

#include "common/error.h"
#include "exec/operators/aggregate.h"
#include "exec/operators/collect_metrics.h"
#include "exec/operators/event_time.h"
#include "exec/operators/exchange.h"
#include "exec/operators/generate.h"
#include "exec/operators/join.h"
#include "exec/operators/project_filter.h"
#include "exec/operators/scans.h"
#include "exec/operators/session_aggregate.h"
#include "exec/operators/session_window.h"
#include "exec/operators/sort_limit.h"
#include "exec/operators/stateful_aggregate.h"
#include "exec/operators/stateful_sessions.h"
#include "exec/operators/stream_deduplicate.h"
#include "exec/operators/stream_limit.h"
#include "exec/planner/binder.h"
#include "exec/planner/known_rows.h"
#include "exec/planner/stream_join.h"
#include "expr/canonical.h"
#include "plan/analyze/streaming_rules.h"
#include "plan/logical/collect_metrics.h"
#include "plan/logical/event_time.h"
#include "plan/logical/generate.h"
#include "plan/logical/join.h"
#include "plan/logical/repartition.h"
#include "types/column_metadata.h"

namespace thalweg {
namespace {

// The side that is held in memory: the one that is no stream, else the smaller, else the right. Semi and anti joins ask of the
// left's rows.
BuildSide buildSideOf(const LogicalJoin& join) {
  if (isExistence(join.type()) || join.left()->isStreaming()) return BuildSide::Right;
  if (join.right()->isStreaming()) return BuildSide::Left;
  const std::optional<int64_t> left = mostRows(*join.left());
  if (!left) return BuildSide::Right;
  const std::optional<int64_t> right = mostRows(*join.right());
  return right && *left < *right ? BuildSide::Left : BuildSide::Right;
}

class Planner {
 public:
  Planner(const BatchContext& constants, const StreamingPlanning* streaming) : constants_(constants), streaming_(streaming) {}

  PhysicalPtr plan(const LogicalNode& node) const {
    switch (node.kind()) {
      case LogicalKind::LocalRelation:
        return std::make_shared<PhysicalLocalRelation>(fullSchema(node.output()),
                                                       static_cast<const LogicalLocalRelation&>(node).batches());
      case LogicalKind::Range: {
        const auto& range = static_cast<const LogicalRange&>(node);
        return std::make_shared<PhysicalRange>(fullSchema(node.output()), range.start(), range.end(), range.step(), range.partitions());
      }
      case LogicalKind::TableScan: {
        const auto& scan = static_cast<const LogicalTableScan&>(node);
        return std::make_shared<PhysicalTableScan>(fullSchema(node.output()), scan.table(), scan.columns(), scan.conditions());
      }
      case LogicalKind::StreamScan: {
        const auto& scan = static_cast<const LogicalStreamScan&>(node);
        if (scan.sourceIndex() < 0) {
          throw Error("_LEGACY_ERROR_TEMP_3102", "Queries with streaming sources must be executed with writeStream.start().",
                      {{"msg", "Queries with streaming sources must be executed with writeStream.start()"}});
        }
        return std::make_shared<PhysicalStreamScan>(fullSchema(node.output()), scan.source()->format, scan.sourceIndex(), scan.columns());
      }
      case LogicalKind::Project: {
        const auto& project = static_cast<const LogicalProject&>(node);
        return std::make_shared<PhysicalProject>(fullSchema(node.output()), binder(node).bindAll(project.expressions()), plan(*node.child()));
      }
      case LogicalKind::Filter:
        return std::make_shared<PhysicalFilter>(binder(node).bind(static_cast<const LogicalFilter&>(node).condition()), plan(*node.child()));
      case LogicalKind::Aggregate: return planAggregate(static_cast<const LogicalAggregate&>(node));
      case LogicalKind::Sort: return planSort(static_cast<const LogicalSort&>(node), -1);
      case LogicalKind::Limit: return planLimit(static_cast<const LogicalLimit&>(node));
      case LogicalKind::Union: {
        std::vector<PhysicalPtr> children;
        for (const LogicalPtr& child : node.children()) children.push_back(plan(*child));
        return std::make_shared<PhysicalUnion>(fullSchema(node.output()), std::move(children));
      }
      case LogicalKind::Join: return planJoin(static_cast<const LogicalJoin&>(node));
      case LogicalKind::SubqueryAlias: return plan(*node.child());
      case LogicalKind::Repartition:
        return planRepartition(static_cast<const LogicalRepartition&>(node));
      case LogicalKind::TimeWindow: {
        const auto& window = static_cast<const LogicalTimeWindow&>(node);
        return planTimeWindow(window, window.spec());
      }
      case LogicalKind::Generate: return planGenerate(static_cast<const LogicalGenerate&>(node));
      case LogicalKind::Expand: {
        std::vector<std::vector<ExpressionPtr>> projections = static_cast<const LogicalExpand&>(node).projections();
        for (auto& projection : projections) projection = binder(node).bindAll(projection);
        return std::make_shared<PhysicalExpand>(fullSchema(node.output()), std::move(projections), plan(*node.child()));
      }
      case LogicalKind::EventTimeWatermark: return planWatermark(static_cast<const LogicalEventTimeWatermark&>(node));
      case LogicalKind::SessionWindow: {
        const auto& session = static_cast<const LogicalSessionWindow&>(node);
        const Binder input = binder(node);
        return std::make_shared<PhysicalSessionWindow>(fullSchema(node.output()), input.bind(session.time()), input.bind(session.gap()),
                                                       plan(*node.child()));
      }
      case LogicalKind::CollectMetrics: return planMetrics(static_cast<const LogicalCollectMetrics&>(node));
      case LogicalKind::Deduplicate: return planDeduplicate(static_cast<const LogicalDeduplicate&>(node));
    }
    throw internalError("unknown logical node");
  }

 private:
  PhysicalPtr planRepartition(const LogicalRepartition& node) const {
    RowSpread spread = node.spread();
    if (spread.kind == RowSpread::Kind::Merged)
      return std::make_shared<PhysicalCoalesce>(spread.numPartitions, plan(*node.child()));
    spread.keys = binder(node).bindAll(spread.keys);
    return std::make_shared<PhysicalExchange>(std::move(spread), plan(*node.child()));
  }

  PhysicalPtr planGenerate(const LogicalGenerate& node) const {
    std::vector<int> kept;
    for (const AttributePtr& column : node.kept()) {
      const auto bound = binder(node).bind(column);
      kept.push_back(static_cast<const BoundReference&>(*bound).ordinal());
    }
    std::vector<ExpressionPtr> arguments = binder(node).bindAll(node.generator()->children());
    auto generator = std::static_pointer_cast<const GeneratorCall>(node.generator()->withChildren(std::move(arguments)));
    return std::make_shared<PhysicalGenerate>(fullSchema(node.output()), std::move(generator), std::move(kept), plan(*node.child()));
  }

  PhysicalPtr planJoin(const LogicalJoin& join) const {
    if (streaming_ && join.left()->isStreaming() && join.right()->isStreaming()) {
      const int operatorId = nextOperatorId_++;  // before the children's
      StreamJoin what = planStreamJoin(join, constants_);
      PhysicalPtr left = plan(*join.left());
      PhysicalPtr right = plan(*join.right());
      return std::make_shared<PhysicalStreamJoin>(fullSchema(join.output()), std::move(what), operatorId, std::move(left),
                                                  std::move(right));
    }
    const Binder left(join.left()->output(), constants_);
    const Binder right(join.right()->output(), constants_);
    JoinCondition condition = splitJoinCondition(join);
    if (join.eachOnce() && (condition.rest || condition.keys.empty())) throw unsupported("INTERSECT ALL and EXCEPT ALL of such columns");
    for (JoinKey& key : condition.keys) key = {left.bind(key.left), right.bind(key.right), key.nullSafe};
    if (condition.rest) {
      std::vector<AttributePtr> pair = join.left()->output();
      pair.insert(pair.end(), join.right()->output().begin(), join.right()->output().end());
      condition.rest = Binder(pair, constants_).bind(condition.rest);
    }
    return std::make_shared<PhysicalJoin>(fullSchema(join.output()), join.type(), buildSideOf(join), std::move(condition),
                                          plan(*join.left()), plan(*join.right()), join.eachOnce());
  }

  PhysicalPtr planWatermark(const LogicalEventTimeWatermark& node) const {
    return std::make_shared<PhysicalEventTimeWatermark>(fullSchema(node.output()), binder(node).bind(timeOf(node.eventTime())),
                                                        node.index(), plan(*node.child()));
  }

  PhysicalPtr planTimeWindow(const LogicalTimeWindow& window, const TimeWindowSpec& spec) const {
    return std::make_shared<PhysicalTimeWindow>(fullSchema(window.output()), binder(window).bind(window.time()), spec,
                                                plan(*window.child()));
  }

  // Overlapping windows that a streaming aggregate groups by, and uses for nothing else; values may come in any order.
  struct GroupedWindows {
    WindowPanes panes;
    const LogicalTimeWindow* node;
    const LogicalProject* above;  // picks columns of the node; may be null
  };

  static std::optional<GroupedWindows> groupedWindows(const LogicalAggregate& aggregate) {
    const LogicalNode* child = aggregate.child().get();
    const LogicalProject* project = nullptr;
    if (child->kind() == LogicalKind::Project) {
      project = static_cast<const LogicalProject*>(child);
      const auto& picked = project->expressions();
      if (!std::all_of(picked.begin(), picked.end(), [](const auto& e) { return e->kind() == ExpressionKind::Attribute; })) return std::nullopt;
      child = project->child().get();
    }
    if (child->kind() != LogicalKind::TimeWindow) return std::nullopt;
    const auto& node = static_cast<const LogicalTimeWindow&>(*child);
    if (node.spec().slide == node.spec().duration) return std::nullopt;
    const auto isWindow = [&](const Expression& e) {
      return e.kind() == ExpressionKind::Attribute && static_cast<const Attribute&>(e).id() == node.window()->id();
    };
    for (const ExpressionPtr& result : aggregate.results()) {
      const bool needsRows = anyOf(*result, [&](const Expression& e) {
        return e.kind() == ExpressionKind::Aggregate &&
               (static_cast<const AggregateCall&>(e).spec().orderMatters || anyOf(e, isWindow));
      });
      if (needsRows) return std::nullopt;
    }
    std::optional<size_t> column;
    for (size_t i = 0; i < aggregate.grouping().size(); ++i) {
      const ExpressionPtr& named = aggregate.grouping()[i];
      const ExpressionPtr& group = named->kind() == ExpressionKind::Alias ? named->children()[0] : named;
      if (!column && isWindow(*group)) column = i;
      else if (anyOf(*group, isWindow)) return std::nullopt;
    }
    if (!column) return std::nullopt;
    return GroupedWindows{{*column, node.spec()}, &node, project};
  }

  PhysicalPtr planPanes(const GroupedWindows& windows) const {
    PhysicalPtr panes = planTimeWindow(*windows.node, windows.panes.panes());
    if (windows.above == nullptr) return panes;
    return std::make_shared<PhysicalProject>(fullSchema(windows.above->output()),
                                             binder(*windows.above).bindAll(windows.above->expressions()), panes);
  }

  Binder binder(const LogicalNode& node) const { return Binder(node.child()->output(), constants_); }

  PhysicalPtr planSort(const LogicalSort& sort, int64_t limit) const {
    const SortedRows rows = sort.global() ? SortedRows::All : SortedRows::OfEachPartition;
    return std::make_shared<PhysicalSort>(binder(sort).bindAll(sort.orders()), rows, limit, plan(*sort.child()));
  }

  PhysicalPtr planLimit(const LogicalLimit& limit) const {
    // Above an aggregation in complete mode each batch has all rows: their limit needs no memory of earlier batches.
    if (streaming_ && limit.isStreaming() && (streaming_->mode == OutputMode::Append || streamingAggregates(*limit.child()).empty())) {
      const int operatorId = nextOperatorId_++;  // before the child's
      return std::make_shared<PhysicalStreamLimit>(limit.limit(), operatorId, plan(*limit.child()));
    }
    const LogicalPtr& child = limit.child();
    const bool topRows = !limit.tail() && limit.limit() >= 0 && child->kind() == LogicalKind::Sort &&
                         static_cast<const LogicalSort&>(*child).global();
    PhysicalPtr input = topRows ? planSort(static_cast<const LogicalSort&>(*child), limit.limit() + limit.offset()) : plan(*child);
    return std::make_shared<PhysicalLimit>(limit.limit(), limit.offset(), limit.tail(), std::move(input));
  }

  PhysicalPtr planDeduplicate(const LogicalDeduplicate& node) const {
    if (streaming_ && node.isStreaming()) return planStreamDeduplicate(node);
    if (node.withinWatermark()) {
      throw Error("_LEGACY_ERROR_TEMP_3102", "dropDuplicatesWithinWatermark is for streams; use dropDuplicates here.",
                  {{"msg", "dropDuplicatesWithinWatermark is not supported with batch DataFrames/DataSets"}});
    }
    std::vector<int> keys;
    for (const AttributePtr& key : node.keys())
      keys.push_back(static_cast<const BoundReference&>(*binder(node).bind(key)).ordinal());
    return std::make_shared<PhysicalDeduplicate>(std::move(keys), plan(*node.child()));
  }

  PhysicalPtr planStreamDeduplicate(const LogicalDeduplicate& node) const {
    const int operatorId = nextOperatorId_++;  // before the child's
    const Binder input = binder(node);
    StreamDeduplication what;
    const AttributePtr eventTime = eventTimeColumn(node.child()->output());
    if (eventTime) what.eventTime = input.bind(timeOf(eventTime));
    if (node.withinWatermark()) {
      if (!eventTime) throw internalError("A deduplication within the watermark has no event time.");
      what.withinDelayMs = metadataNumber(eventTime->metadata(), kWatermarkDelayKey).value_or(0);
    }
    for (const AttributePtr& key : inStoredOrder(node.keys(), operatorId)) {
      if (eventTime && key->id() == eventTime->id()) what.eventTimeKey = EventTimeKey{what.keys.size(), isWindowType(*key->type())};
      what.keys.push_back(input.bind(key));
      what.keyFields.push_back({key->name(), key->type(), key->nullable(), key->metadata()});
    }
    return std::make_shared<PhysicalStreamDeduplicate>(std::move(what), operatorId, plan(*node.child()));
  }

  // A query that names the same columns in another order, or a Spark that ordered them by a set of its own, means the same keys.
  std::vector<AttributePtr> inStoredOrder(const std::vector<AttributePtr>& keys, int operatorId) const {
    const SchemaPtr stored = streaming_->storedKey ? streaming_->storedKey(operatorId) : nullptr;
    if (!stored || stored->fields().size() != keys.size()) return keys;
    std::vector<AttributePtr> ordered;
    for (const StructField& field : stored->fields()) {
      const auto found = std::find_if(keys.begin(), keys.end(), [&](const AttributePtr& key) { return key->name() == field.name; });
      if (found == keys.end() || std::count(ordered.begin(), ordered.end(), *found) > 0) return keys;
      ordered.push_back(*found);
    }
    return ordered;
  }

  // The column by which rows are late; null where there is none.
  static AttributePtr eventTimeColumn(const std::vector<AttributePtr>& columns) {
    AttributePtr found;
    for (const AttributePtr& column : columns) {
      if (!hasMetadataKey(column->metadata(), kWatermarkDelayKey)) continue;
      if (found && found->id() != column->id()) {
        throw Error("_LEGACY_ERROR_TEMP_3077",
                    "A deduplication has two event times, '" + found->name() + "' and '" + column->name() + "': drop one of them before.",
                    {{"eventTimeCols", found->name() + "," + column->name()}});
      }
      found = column;
    }
    return found;
  }

  // A window's event time is its end.
  static ExpressionPtr timeOf(const ExpressionPtr& eventTime) {
    return isWindowType(*eventTime->type()) ? std::make_shared<FieldAccess>(eventTime, 1) : eventTime;
  }

  // The results over columns: an aggregate's call becomes one, appended to `columns`, the call itself to `calls`.
  static std::vector<ExpressionPtr> splitAggregates(const std::vector<ExpressionPtr>& results, const Binder& input,
                                                    std::vector<AttributePtr>* columns, Aggregates* calls) {
    std::unordered_map<std::string, AttributePtr> callColumns;
    std::function<ExpressionPtr(const ExpressionPtr&)> replace = [&](const ExpressionPtr& e) -> ExpressionPtr {
      if (e->kind() == ExpressionKind::Aggregate) {
        AttributePtr& column = callColumns[canonicalText(*e)];
        if (!column) {
          column = std::make_shared<Attribute>(e->toString(), e->type(), e->nullable(), nextExpressionId());
          columns->push_back(column);
          calls->push_back(std::static_pointer_cast<const AggregateCall>(input.bind(e)));
        }
        return column;
      }
      if (e->children().empty()) return e;
      std::vector<ExpressionPtr> children;
      for (const ExpressionPtr& child : e->children()) children.push_back(replace(child));
      return e->withChildren(std::move(children));
    };
    std::vector<ExpressionPtr> replaced;
    for (const ExpressionPtr& result : results) replaced.push_back(replace(result));
    return replaced;
  }

  PhysicalPtr planMetrics(const LogicalCollectMetrics& node) const {
    std::vector<AttributePtr> columns;
    Aggregates calls;
    const std::vector<ExpressionPtr> results = splitAggregates(node.metrics(), binder(node), &columns, &calls);
    std::vector<AttributePtr> metrics;
    for (const ExpressionPtr& metric : node.metrics()) metrics.push_back(static_cast<const Alias&>(*metric).toAttribute());
    return std::make_shared<PhysicalCollectMetrics>(node.name(), node.planId(), fullSchema(metrics), std::move(calls), fullSchema(columns),
                                                    Binder(columns, constants_).bindAll(results), plan(*node.child()));
  }

  // One row.
  PhysicalPtr planConstants(const LogicalNode& node, const std::vector<ExpressionPtr>& values) const {
    const SchemaPtr none = DataType::structOf({});
    const auto row = arrow::RecordBatch::Make(arrow::schema({}), 1, arrow::ArrayVector());
    const auto oneRow = std::make_shared<PhysicalLocalRelation>(none, std::vector{row});
    return std::make_shared<PhysicalProject>(fullSchema(node.output()), Binder({}, constants_).bindAll(values), oneRow);
  }

  // The hash aggregate gives groups and aggregates; a projection above computes the results from them.
  PhysicalPtr planAggregate(const LogicalAggregate& aggregate) const {
    if (const auto counts = streaming_ ? std::nullopt : knownCounts(aggregate)) return planConstants(aggregate, *counts);
    const int operatorId = streaming_ && aggregate.isStreaming() ? nextOperatorId_++ : -1;  // before the child's
    const Binder input = binder(aggregate);
    std::vector<AttributePtr> columns;  // of the hash aggregate
    for (const ExpressionPtr& group : aggregate.grouping()) {
      columns.push_back(group->kind() == ExpressionKind::Attribute ? std::static_pointer_cast<const Attribute>(group)
                                                                   : static_cast<const Alias&>(*group).toAttribute());
    }
    Aggregates calls;
    const std::vector<ExpressionPtr> results = splitAggregates(aggregate.results(), input, &columns, &calls);
    const std::vector<ExpressionPtr> grouping = input.bindAll(aggregate.grouping());
    PhysicalPtr hashAggregate;
    if (const auto session = sessionKey(columns, grouping.size())) {
      hashAggregate = planSessions(columns, grouping, *session, std::move(calls), operatorId, plan(*aggregate.child()));
    } else if (operatorId >= 0) {
      const std::optional<GroupedWindows> windows = groupedWindows(aggregate);
      hashAggregate = std::make_shared<PhysicalStatefulAggregate>(
          fullSchema(columns), grouping, std::move(calls), streaming_->mode, eventTimeKey(columns, grouping.size()),
          windows ? std::optional(windows->panes) : std::nullopt, operatorId, windows ? planPanes(*windows) : plan(*aggregate.child()));
    } else {
      hashAggregate = std::make_shared<PhysicalAggregate>(fullSchema(columns), grouping, std::move(calls), plan(*aggregate.child()));
    }
    return std::make_shared<PhysicalProject>(fullSchema(aggregate.output()), Binder(columns, constants_).bindAll(results), hashAggregate);
  }

  PhysicalPtr planSessions(const std::vector<AttributePtr>& columns, const std::vector<ExpressionPtr>& grouping, size_t session,
                           Aggregates calls, int operatorId, PhysicalPtr child) const {
    if (operatorId < 0)
      return std::make_shared<PhysicalSessionAggregate>(fullSchema(columns), grouping, session, std::move(calls), std::move(child));
    if (grouping.size() == 1) {
      throw Error("_LEGACY_ERROR_TEMP_3068",
                  "A stream is grouped by session_window alone: all of its state would be in one partition. Group by another column too.", {});
    }
    const bool hasWatermark = hasMetadataKey(columns[session]->metadata(), kWatermarkDelayKey);
    return std::make_shared<PhysicalStatefulSessions>(fullSchema(columns), grouping, session, std::move(calls), streaming_->mode,
                                                      hasWatermark, operatorId, std::move(child));
  }

  // The grouping column of sessions: those of a key that touch are one.
  static std::optional<size_t> sessionKey(const std::vector<AttributePtr>& columns, size_t numGrouping) {
    for (size_t i = 0; i < numGrouping; ++i) {
      if (hasMetadataKey(columns[i]->metadata(), kSessionWindowKey) && isWindowType(*columns[i]->type())) return i;
    }
    return std::nullopt;
  }

  // The first grouping column that carries the watermark.
  static std::optional<EventTimeKey> eventTimeKey(const std::vector<AttributePtr>& columns, size_t numGrouping) {
    for (size_t i = 0; i < numGrouping; ++i) {
      if (hasMetadataKey(columns[i]->metadata(), kWatermarkDelayKey)) return EventTimeKey{i, isWindowType(*columns[i]->type())};
    }
    return std::nullopt;
  }

  const BatchContext& constants_;
  const StreamingPlanning* streaming_;
  mutable int nextOperatorId_ = 0;
};

}  // namespace

PhysicalPtr planPhysical(const LogicalPtr& plan, const BatchContext& constants, const StreamingPlanning* streaming) {
  return Planner(constants, streaming).plan(*plan);
}

}  // namespace thalweg
