#include "exec/operators/event_time.h"

#include <arrow/api.h>

#include "exec/operators/project_filter.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

constexpr int64_t kMicrosPerMilli = 1000;

int64_t floorDivide(int64_t value, int64_t divisor) {
  const int64_t quotient = value / divisor;
  return quotient - (value % divisor < 0 ? 1 : 0);
}

// The start of the latest window that holds a time.
int64_t lastStart(int64_t time, const TimeWindowSpec& spec) {
  const auto sinceStart = static_cast<int64_t>(static_cast<uint64_t>(time) - static_cast<uint64_t>(spec.start));
  return static_cast<int64_t>(static_cast<uint64_t>(floorDivide(sinceStart, spec.slide)) * static_cast<uint64_t>(spec.slide) +
                              static_cast<uint64_t>(spec.start));
}

class EventTimeReader final : public BatchReader {
 public:
  EventTimeReader(const Expression& eventTime, std::unique_ptr<BatchReader> input, EvaluationContext context, SharedEventTimes& times)
      : eventTime_(eventTime), input_(std::move(input)), context_(context), times_(times) {}

  std::shared_ptr<arrow::RecordBatch> next() override {
    auto batch = input_->next();
    if (batch && batch->num_rows() > 0) note(*batch);
    return batch;
  }

 private:
  void note(const arrow::RecordBatch& batch) {
    const auto column = evaluateToArray(eventTime_, batch, Selection::all(batch.num_rows()), context_);
    const auto& micros = static_cast<const arrow::TimestampArray&>(*column);
    EventTimes seen;
    for (int64_t row = 0; row < micros.length(); ++row) {
      if (micros.IsValid(row)) seen.add(floorDivide(micros.Value(row), kMicrosPerMilli));
    }
    times_.add(seen);
  }

  const Expression& eventTime_;
  std::unique_ptr<BatchReader> input_;
  EvaluationContext context_;
  SharedEventTimes& times_;
};

class RunningEventTime final : public RunningOperator {
 public:
  RunningEventTime(const Expression& eventTime, std::unique_ptr<RunningOperator> input, Execution& execution, SharedEventTimes& times)
      : eventTime_(eventTime), input_(std::move(input)), execution_(execution), times_(times) {}
  int numPartitions() const override { return input_->numPartitions(); }
  std::unique_ptr<BatchReader> open(int partition) override {
    return std::make_unique<EventTimeReader>(eventTime_, input_->open(partition), execution_.evaluation(partition), times_);
  }

 private:
  const Expression& eventTime_;
  std::unique_ptr<RunningOperator> input_;
  Execution& execution_;
  SharedEventTimes& times_;
};

}  // namespace

PhysicalTimeWindow::PhysicalTimeWindow(SchemaPtr schema, ExpressionPtr time, const TimeWindowSpec& spec, PhysicalPtr child)
    : BatchTransform(std::move(schema), {std::move(child)}), time_(std::move(time)), spec_(spec) {}

std::shared_ptr<arrow::RecordBatch> PhysicalTimeWindow::transform(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                                  const EvaluationContext& context) const {
  const auto column = evaluateToArray(*time_, *batch, Selection::all(batch->num_rows()), context);
  const auto& times = static_cast<const arrow::TimestampArray&>(*column);
  const auto schema = toArrowSchema(*this->schema());
  const auto& windowType = static_cast<const arrow::StructType&>(*schema->fields().back()->type());
  arrow::TimestampBuilder starts(windowType.field(0)->type(), context.memoryPool());
  arrow::TimestampBuilder ends(windowType.field(1)->type(), context.memoryPool());
  std::vector<int32_t> rows;
  for (int64_t row = 0; row < times.length(); ++row) {
    if (times.IsNull(row)) continue;
    const int64_t time = times.Value(row);
    // Times at the ends of the range wrap around, as Java's do.
    const auto unsignedTime = static_cast<uint64_t>(time);
    auto start = static_cast<uint64_t>(lastStart(time, spec_));
    for (; unsignedTime - start < static_cast<uint64_t>(spec_.duration); start -= static_cast<uint64_t>(spec_.slide)) {
      rows.push_back(static_cast<int32_t>(row));
      throwIfFailed(starts.Append(static_cast<int64_t>(start)));
      throwIfFailed(ends.Append(static_cast<int64_t>(start + static_cast<uint64_t>(spec_.duration))));
    }
  }
  arrow::ArrayVector columns = takeRows(batch, rows, context.memoryPool())->columns();
  const auto numRows = static_cast<int64_t>(rows.size());
  arrow::ArrayVector bounds = {valueOrThrow(starts.Finish()), valueOrThrow(ends.Finish())};
  columns.push_back(std::make_shared<arrow::StructArray>(schema->fields().back()->type(), numRows, std::move(bounds)));
  return arrow::RecordBatch::Make(schema, numRows, std::move(columns));
}

std::string PhysicalTimeWindow::describe() const { return "TimeWindow " + time_->toString(); }

PhysicalEventTimeWatermark::PhysicalEventTimeWatermark(SchemaPtr schema, ExpressionPtr eventTime, int watermarkIndex, PhysicalPtr child)
    : PhysicalNode(std::move(schema), {std::move(child)}), eventTime_(std::move(eventTime)), watermarkIndex_(watermarkIndex) {}

std::unique_ptr<RunningOperator> PhysicalEventTimeWatermark::start(Execution& execution) const {
  return std::make_unique<RunningEventTime>(*eventTime_, children()[0]->start(execution), execution,
                                            execution.eventTimes.at(static_cast<size_t>(watermarkIndex_)));
}

std::string PhysicalEventTimeWatermark::describe() const { return "EventTimeWatermark " + eventTime_->toString(); }

}  // namespace thalweg
