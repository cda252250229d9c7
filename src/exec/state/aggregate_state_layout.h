// What the state of a streaming aggregation is made of; the same for all its partitions.
#pragma once

#include <optional>
#include <vector>

#include "columnar/binary_row.h"
#include "exec/operators/groups.h"
#include "expr/time_window.h"

namespace thalweg {

// The grouping column by which groups end: a timestamp, or a window, which ends when its end is passed.
struct EventTimeKey {
  size_t column = 0;
  bool isWindow = false;

  // Of each row of the key columns, in microseconds; none where null.
  std::vector<std::optional<int64_t>> timesOf(const std::vector<std::shared_ptr<arrow::Array>>& keys) const;
};

// A grouping column of windows that overlap. Rows come with the pane in its place: the span of time between
// two bounds of windows, all of whose rows have the same windows. So an event is aggregated once, however many
// windows hold it.
struct WindowPanes {
  size_t column = 0;
  TimeWindowSpec windows;

  TimeWindowSpec panes() const;
  // The starts of the windows that hold a pane, the latest first.
  std::vector<int64_t> windowsOf(int64_t paneStart) const;
};

struct AggregateStateLayout {
  AggregateStateLayout(std::vector<StructField> keyFields, Aggregates aggregates, std::optional<EventTimeKey> eventTime,
                  std::optional<WindowPanes> panes);

  std::vector<StructField> keyFields;
  std::vector<DataTypePtr> keyTypes;
  std::vector<StructField> valueFields;  // the aggregates' buffers, one after the other
  std::vector<DataTypePtr> valueTypes;
  Aggregates aggregates;
  std::optional<EventTimeKey> eventTime;
  std::optional<WindowPanes> panes;
  BinaryRowEncoder keyEncoder;
  BinaryRowEncoder valueEncoder;
};

}  // namespace thalweg
