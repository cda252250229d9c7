// withWatermark, and the nodes behind window(), session_window() and window_time().
#include <spark/connect/relations.pb.h>

#include "common/error.h"
#include "expr/canonical.h"
#include "plan/analyze/attribute_name.h"
#include "plan/analyze/relations.h"
#include "plan/logical/event_time.h"
#include "types/column_metadata.h"
#include "types/text/intervals.h"

namespace thalweg {
namespace {

namespace proto = spark::connect;

bool isTime(const DataType& type) { return type.id() == TypeId::Timestamp || type.id() == TypeId::TimestampNtz; }

void collect(const ExpressionPtr& expression, ExpressionKind kind, std::vector<ExpressionPtr>* found) {
  if (expression->kind() == kind) {
    const bool known = std::any_of(found->begin(), found->end(), [&](const ExpressionPtr& one) { return sameExpression(*one, *expression); });
    if (!known) found->push_back(expression);
  }
  for (const ExpressionPtr& child : expression->children()) collect(child, kind, found);
}

void replace(std::vector<ExpressionPtr>* list, const ExpressionPtr& from, const AttributePtr& to) {
  for (ExpressionPtr& one : *list) {
    one = transformUp(one, [&](const ExpressionPtr& e) -> ExpressionPtr {
      return e->kind() == from->kind() && sameExpression(*e, *from) ? ExpressionPtr(to) : e;
    });
  }
}

std::string metadataOf(const ExpressionPtr& column) {
  return column->kind() == ExpressionKind::Attribute ? static_cast<const Attribute&>(*column).metadata() : std::string();
}

// What a window's metadata say of event time: its time is no window.
std::string timeMetadataOf(const ExpressionPtr& window) {
  return withoutMetadataKey(withoutMetadataKey(metadataOf(window), kTimeWindowKey), kSessionWindowKey);
}

// window_time(w) becomes a column below.
LogicalPtr nameWindowTimes(std::vector<ExpressionPtr>* list, LogicalPtr child) {
  std::vector<ExpressionPtr> times;
  for (const ExpressionPtr& one : *list) collect(one, ExpressionKind::WindowTime, &times);
  if (times.empty()) return child;
  std::vector<ExpressionPtr> columns(child->output().begin(), child->output().end());
  for (const ExpressionPtr& time : times) {
    const auto column = std::make_shared<Alias>(time, time->toString(), nextExpressionId(), timeMetadataOf(time->children()[0]));
    replace(list, time, column->toAttribute());
    columns.push_back(column);
  }
  return std::make_shared<LogicalProject>(std::move(columns), std::move(child));
}

LogicalPtr placeSession(const TimeWindow& window, std::vector<ExpressionPtr>* list, const LogicalPtr& child) {
  const ExpressionPtr& time = window.children()[0];
  const ExpressionPtr& gap = window.children()[1];
  const ExpressionPtr self = window.withChildren({time, gap});
  if (child->kind() == LogicalKind::SessionWindow) {
    const auto& placed = static_cast<const LogicalSessionWindow&>(*child);
    if (sameExpression(*placed.time(), *time) && sameExpression(*placed.gap(), *gap)) {
      replace(list, self, placed.window());
      return child;
    }
  }
  const auto column = std::make_shared<Attribute>("session_window", window.type(), false, nextExpressionId(), std::vector<std::string>{},
                                                  withMetadataKey(metadataOf(time), kSessionWindowKey, "true"));
  replace(list, self, column);
  return std::make_shared<LogicalSessionWindow>(time, gap, column, child);
}

}  // namespace

LogicalPtr placeTimeWindows(std::vector<ExpressionPtr>* list, LogicalPtr child) {
  child = nameWindowTimes(list, std::move(child));
  std::vector<ExpressionPtr> windows;
  for (const ExpressionPtr& one : *list) collect(one, ExpressionKind::TimeWindow, &windows);
  if (windows.empty()) return child;
  if (windows.size() > 1) {
    throw Error("_LEGACY_ERROR_TEMP_1039", "An operator can have one window of time; the product of several is not supported.", {});
  }
  const auto& window = static_cast<const TimeWindow&>(*windows[0]);
  const ExpressionPtr& time = window.children()[0];
  if (window.isSession()) return placeSession(window, list, child);
  if (child->kind() == LogicalKind::TimeWindow) {
    const auto& placed = static_cast<const LogicalTimeWindow&>(*child);
    if (placed.spec() == window.spec() && sameExpression(*placed.time(), *time)) {
      replace(list, windows[0], placed.window());
      return child;
    }
  }
  const auto column = std::make_shared<Attribute>("window", window.type(), false, nextExpressionId(), std::vector<std::string>{},
                                                  withMetadataKey(metadataOf(time), kTimeWindowKey, "true"));
  replace(list, windows[0], column);
  return std::make_shared<LogicalTimeWindow>(time, window.spec(), column, std::move(child));
}

void refuseTimeWindow(const Expression& expression, const std::string& where) {
  const bool has = anyOf(expression, [](const Expression& e) {
    return e.kind() == ExpressionKind::TimeWindow || e.kind() == ExpressionKind::WindowTime;
  });
  if (has) throw unsupported("window() or window_time() inside " + where + " (select it as a column first)");
}

LogicalPtr RelationAnalyzer::withWatermark(const proto::Relation& relation) {
  const auto& message = relation.with_watermark();
  LogicalPtr child = analyze(message.input());
  const int64_t delayMicros = parseIntervalMicros(message.delay_threshold());
  if (delayMicros < 0) {
    throw Error(ErrorKind::IllegalArgument, "INVALID_WATERMARK_DELAY",
                "The delay of a watermark must not be negative, but is '" + message.delay_threshold() + "'.");
  }
  const ExpressionPtr column = scopeOf(*child).resolve(parseAttributeName(message.event_time()));
  if (column->kind() != ExpressionKind::Attribute) {
    throw Error("EVENT_TIME_MUST_BE_TOP_LEVEL_COLUMN",
                "'" + message.event_time() + "' is part of a column; an event time is a column of its own. Select it under a name first.",
                {{"eventExpr", message.event_time()}});
  }
  if (!isTime(*column->type()) && !isWindowType(*column->type())) {
    throw Error("EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE",
                "The event time '" + message.event_time() + "' is of type " + column->type()->sqlString() + ", but must be a timestamp.",
                {{"eventName", message.event_time()}, {"eventType", "\"" + column->type()->sqlString() + "\""}});
  }
  // What is not a stream has no late rows.
  if (!child->isStreaming()) return child;
  return std::make_shared<LogicalEventTimeWatermark>(std::static_pointer_cast<const Attribute>(column), delayMicros / 1000, std::move(child));
}

}  // namespace thalweg
