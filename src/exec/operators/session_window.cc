#include "exec/operators/session_window.h"

#include <optional>
#include <string>
#include <unordered_map>

#include <arrow/api.h>

#include "common/error.h"
#include "common/options.h"
#include "exec/operators/project_filter.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"
#include "types/text/intervals.h"

namespace thalweg {
namespace {

// Microseconds; none where the text is no interval.
std::optional<int64_t> parseGap(const std::string& text) {
  if (countsMonths(text))
    throw unsupported("The gap of a session in months or years ('" + text + "')");
  try {
    return parseIntervalMicros(text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The gaps of a batch's rows, in microseconds.
class Gaps {
 public:
  explicit Gaps(std::shared_ptr<arrow::Array> gaps) : gaps_(std::move(gaps)) {}

  std::optional<int64_t> at(int64_t row) {
    if (gaps_->IsNull(row) || gaps_->type_id() == arrow::Type::NA) return std::nullopt;
    if (gaps_->type_id() == arrow::Type::DURATION)
      return static_cast<const arrow::DurationArray&>(*gaps_).Value(row);
    const std::string text(static_cast<const arrow::StringArray&>(*gaps_).GetView(row));
    const auto [known, added] = parsed_.try_emplace(text);
    if (added) known->second = parseGap(text);
    return known->second;
  }

 private:
  std::shared_ptr<arrow::Array> gaps_;
  std::unordered_map<std::string, std::optional<int64_t>> parsed_;
};

int64_t endOf(int64_t start, int64_t gap) {
  int64_t end = 0;
  if (__builtin_add_overflow(start, gap, &end))
    throw Error("DATETIME_OVERFLOW", "A session ends after the last timestamp that there is.");
  return end;
}

}  // namespace

PhysicalSessionWindow::PhysicalSessionWindow(SchemaPtr schema, ExpressionPtr time, ExpressionPtr gap,
                                             PhysicalPtr child)
    : BatchTransform(schema, {std::move(child)}),
      time_(std::move(time)),
      gap_(std::move(gap)),
      arrowSchema_(toArrowSchema(*schema)) {}

std::shared_ptr<arrow::RecordBatch> PhysicalSessionWindow::transform(
    const std::shared_ptr<arrow::RecordBatch>& batch, const EvaluationContext& context) const {
  const Selection all = Selection::all(batch->num_rows());
  const auto column = evaluateToArray(*time_, *batch, all, context);
  const auto& times = static_cast<const arrow::TimestampArray&>(*column);
  Gaps gaps(evaluateToArray(*gap_, *batch, all, context));
  const auto& type = arrowSchema_->fields().back()->type();
  const auto& bound = static_cast<const arrow::StructType&>(*type).field(0)->type();
  arrow::TimestampBuilder starts(bound, context.memoryPool()), ends(bound, context.memoryPool());
  std::vector<int32_t> rows;
  for (int64_t row = 0; row < times.length(); ++row) {
    if (times.IsNull(row)) continue;
    const std::optional<int64_t> gap = gaps.at(row);
    if (!gap || *gap <= 0) continue;
    rows.push_back(static_cast<int32_t>(row));
    throwIfFailed(starts.Append(times.Value(row)));
    throwIfFailed(ends.Append(endOf(times.Value(row), *gap)));
  }
  arrow::ArrayVector columns = takeRows(batch, rows, context.memoryPool())->columns();
  const auto numRows = static_cast<int64_t>(rows.size());
  arrow::ArrayVector bounds = {valueOrThrow(starts.Finish()), valueOrThrow(ends.Finish())};
  columns.push_back(std::make_shared<arrow::StructArray>(type, numRows, std::move(bounds)));
  return arrow::RecordBatch::Make(arrowSchema_, numRows, std::move(columns));
}

std::string PhysicalSessionWindow::describe() const {
  return "SessionWindow " + time_->toString() + ", " + gap_->toString();
}

}  // namespace thalweg
