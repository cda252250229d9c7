// For tests: edits of tables with the columns p (texts, the partition) and x (longs).
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <arrow/api.h>

#include "delta/modify/row_condition.h"
#include "delta/scan/value_bounds.h"
#include "types/arrow_result.h"

namespace thalweg::delta {

// The rows whose x is among some values; or, of one partition, all.
class OneOf final : public RowCondition {
 public:
  explicit OneOf(std::set<int64_t> values) : values_(std::move(values)), columns_{1} {}
  explicit OneOf(std::string partition) : partition_(std::move(partition)) {}
  bool mayMatch(const AddFile& file) override {
    if (partition_) return file.partitionValues.at("p") == partition_;
    const ValueBounds bounds =
        StatisticsView(file.stats.value_or("")).boundsOf({"x"}, *DataType::primitive(TypeId::Long));
    if (!isSet(bounds.min) || !isSet(bounds.max)) return true;
    const auto first = values_.lower_bound(std::get<int64_t>(bounds.min));
    return first != values_.end() && *first <= std::get<int64_t>(bounds.max);
  }
  bool partitionsOnly() const override { return partition_.has_value(); }
  const std::vector<int>& columns() const override { return columns_; }
  std::vector<int64_t> match(const FileRows& part) const override {
    std::vector<int64_t> rows;
    const auto& x = static_cast<const arrow::Int64Array&>(*part.rows->column(0));
    for (const int64_t row : part.liveRows()) {
      if (values_.contains(x.Value(row))) rows.push_back(row);
    }
    return rows;
  }

 private:
  std::set<int64_t> values_;
  std::optional<std::string> partition_;
  std::vector<int> columns_;
};

// The same rows with x + 1000.
inline std::shared_ptr<arrow::RecordBatch> plusThousand(const std::shared_ptr<arrow::RecordBatch>& rows) {
  const auto& x = static_cast<const arrow::Int64Array&>(*rows->column(1));
  arrow::Int64Builder builder;
  for (int64_t row = 0; row < x.length(); ++row) throwIfFailed(builder.Append(x.Value(row) + 1000));
  return valueOrThrow(rows->SetColumn(1, rows->schema()->field(1), valueOrThrow(builder.Finish())));
}

}  // namespace thalweg::delta
