#include "exec/operators/event_time.h"

#include <optional>
#include <utility>
#include <vector>

#include <arrow/api.h>

#include "columnar/row_sizes.h"
#include "exec/operators/project_filter.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"
#include "types/text/calendar.h"

namespace thalweg {
namespace {

constexpr int64_t kMicrosPerMilli = 1000;

// Of the rows that come out at once: a row is repeated for each of its windows.
constexpr size_t kOutputRows = 65536;
constexpr int64_t kOutputBytes = int64_t{32} << 20;

class TimeWindowReader final : public BatchReader {
 public:
  TimeWindowReader(std::shared_ptr<arrow::Schema> schema, const Expression& time, const TimeWindowSpec& spec,
                   std::unique_ptr<BatchReader> input, EvaluationContext context, const CancellationToken& cancellation)
      : schema_(std::move(schema)), time_(time), spec_(spec), input_(std::move(input)), context_(context), cancellation_(cancellation) {}

  std::shared_ptr<arrow::RecordBatch> next() override {
    for (;;) {
      cancellation_.throwIfCancelled();
      if (!batch_ && !readInput()) return nullptr;
      std::vector<int32_t> rows;
      std::vector<int64_t> starts;
      outputBytes_ = 0;
      while (row_ < batch_->num_rows() && hasRoom(rows.size())) takeWindows(&rows, &starts);
      const auto input = row_ == batch_->num_rows() ? std::exchange(batch_, nullptr) : batch_;
      if (!rows.empty()) return output(input, rows, starts);
    }
  }

 private:
  bool readInput() {
    batch_ = input_->next();
    if (!batch_) return false;
    times_ = evaluateToArray(time_, *batch_, Selection::all(batch_->num_rows()), context_);
    row_ = 0;
    start_.reset();
    if (spec_.slide < spec_.duration) rowSizes_ = rowSizes(*batch_);
    return true;
  }

  bool hasRoom(size_t numRows) const { return numRows < kOutputRows && outputBytes_ < kOutputBytes; }

  // Appends the current row's windows, as many as there is room for, and goes on to the next row where it has no more.
  void takeWindows(std::vector<int32_t>* rows, std::vector<int64_t>* starts) {
    const auto& times = static_cast<const arrow::TimestampArray&>(*times_);
    if (times.IsValid(row_)) {
      // Times at the ends of the range wrap around, as Java's do.
      const auto time = static_cast<uint64_t>(times.Value(row_));
      uint64_t start = start_.value_or(static_cast<uint64_t>(lastWindowStart(times.Value(row_), spec_)));
      for (; time - start < static_cast<uint64_t>(spec_.duration); start -= static_cast<uint64_t>(spec_.slide)) {
        if (!hasRoom(rows->size())) {
          start_ = start;
          return;
        }
        rows->push_back(static_cast<int32_t>(row_));
        starts->push_back(static_cast<int64_t>(start));
        if (!rowSizes_.empty()) outputBytes_ += rowSizes_[static_cast<size_t>(row_)];
      }
    }
    start_.reset();
    ++row_;
  }

  std::shared_ptr<arrow::RecordBatch> output(const std::shared_ptr<arrow::RecordBatch>& input, const std::vector<int32_t>& rows,
                                             const std::vector<int64_t>& starts) const {
    const auto& type = schema_->fields().back()->type();
    const auto& bound = static_cast<const arrow::StructType&>(*type).field(0)->type();
    arrow::TimestampBuilder begins(bound, context_.memoryPool());
    arrow::TimestampBuilder ends(bound, context_.memoryPool());
    throwIfFailed(begins.AppendValues(starts));
    throwIfFailed(ends.Reserve(begins.length()));
    for (const int64_t start : starts) {
      ends.UnsafeAppend(static_cast<int64_t>(static_cast<uint64_t>(start) + static_cast<uint64_t>(spec_.duration)));
    }
    // Windows that do not overlap give most batches as they are.
    const bool all = static_cast<int64_t>(rows.size()) == input->num_rows() && spec_.slide == spec_.duration;
    arrow::ArrayVector columns = all ? input->columns() : takeRows(input->columns(), rows, context_.memoryPool());
    const auto numRows = static_cast<int64_t>(rows.size());
    arrow::ArrayVector bounds = {valueOrThrow(begins.Finish()), valueOrThrow(ends.Finish())};
    columns.push_back(std::make_shared<arrow::StructArray>(type, numRows, std::move(bounds)));
    return arrow::RecordBatch::Make(schema_, numRows, std::move(columns));
  }

  std::shared_ptr<arrow::Schema> schema_;
  const Expression& time_;
  TimeWindowSpec spec_;
  std::unique_ptr<BatchReader> input_;
  EvaluationContext context_;
  const CancellationToken& cancellation_;
  std::shared_ptr<arrow::RecordBatch> batch_;  // null: the next one is to be read
  std::shared_ptr<arrow::Array> times_;
  std::vector<int64_t> rowSizes_;  // of windows that overlap
  int64_t outputBytes_ = 0;
  int64_t row_ = 0;
  std::optional<uint64_t> start_;  // of the row's next window, where some are out already
};

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

}  // namespace

PhysicalTimeWindow::PhysicalTimeWindow(SchemaPtr schema, ExpressionPtr time, const TimeWindowSpec& spec, PhysicalPtr child)
    : PhysicalNode(std::move(schema), {std::move(child)}), time_(std::move(time)), spec_(spec) {}

std::unique_ptr<RunningOperator> PhysicalTimeWindow::start(Execution& execution) const {
  return wrapReaders(children()[0]->start(execution), [this, &execution, schema = toArrowSchema(*schema())](auto input, int partition) {
    return std::make_unique<TimeWindowReader>(schema, *time_, spec_, std::move(input), execution.evaluation(partition),
                                              execution.cancellation);
  });
}

std::string PhysicalTimeWindow::describe() const { return "TimeWindow " + time_->toString(); }

PhysicalEventTimeWatermark::PhysicalEventTimeWatermark(SchemaPtr schema, ExpressionPtr eventTime, int watermarkIndex, PhysicalPtr child)
    : PhysicalNode(std::move(schema), {std::move(child)}), eventTime_(std::move(eventTime)), watermarkIndex_(watermarkIndex) {}

std::unique_ptr<RunningOperator> PhysicalEventTimeWatermark::start(Execution& execution) const {
  SharedEventTimes& times = execution.eventTimes.at(static_cast<size_t>(watermarkIndex_));
  return wrapReaders(children()[0]->start(execution), [this, &execution, &times](auto input, int partition) {
    return std::make_unique<EventTimeReader>(*eventTime_, std::move(input), execution.evaluation(partition), times);
  });
}

std::string PhysicalEventTimeWatermark::describe() const { return "EventTimeWatermark " + eventTime_->toString(); }

}  // namespace thalweg
