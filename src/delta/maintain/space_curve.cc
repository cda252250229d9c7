#include "delta/maintain/space_curve.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "common/error.h"
#include "types/arrow_result.h"

namespace thalweg::delta {
namespace {

constexpr size_t kSampleRows = 1 << 16;
// As many ranges a column as Delta has by default, about; fewer where their numbers would not fit together.
constexpr int kMaxBits = 10;
constexpr int kPlaceBits = 64;
// Of a long text only the front decides.
constexpr size_t kMaxKeyBytes = 64;

std::string keyOf(const KeyEncoder& encoder, const std::shared_ptr<arrow::Array>& values, int64_t row) {
  std::string key;
  encoder.append({values}, row, &key);
  if (key.size() > kMaxKeyBytes) key.resize(kMaxKeyBytes);
  return key;
}

// The least value of each range but the first: values at equal distances among the sorted sample.
std::vector<std::string> boundsOf(std::vector<std::string> keys, int bits) {
  std::sort(keys.begin(), keys.end());
  std::vector<std::string> bounds;
  const size_t numRanges = size_t{1} << bits;
  for (size_t range = 1; range < numRanges; ++range) {
    const size_t at = keys.size() * range / numRanges;
    if (at >= keys.size() || keys[at] == keys.front()) continue;
    if (bounds.empty() || bounds.back() < keys[at]) bounds.push_back(keys[at]);
  }
  return bounds;
}

}  // namespace

std::vector<std::shared_ptr<arrow::Array>> curveValues(const arrow::RecordBatch& rows,
                                                       const std::vector<CurveColumn>& columns) {
  std::vector<std::shared_ptr<arrow::Array>> values;
  for (const CurveColumn& column : columns) {
    std::shared_ptr<arrow::Array> array = rows.column(column.path.front());
    for (size_t depth = 1; depth < column.path.size(); ++depth)
      array =
          valueOrThrow(static_cast<const arrow::StructArray&>(*array).GetFlattenedField(column.path[depth]));
    values.push_back(std::move(array));
  }
  return values;
}

// A number of fewer bits than there are ranges for counts from the highest: few distinct values spread over
// the whole column all the same, so that columns weigh alike.
uint64_t SpaceCurve::placeOf(const std::vector<std::string>& keys) const {
  const int numColumns = static_cast<int>(keys.size());
  const int bits = std::min(kMaxBits, kPlaceBits / numColumns);
  std::vector<uint64_t> ranges;
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto& bounds = bounds_[i];
    const auto range =
        static_cast<uint64_t>(std::upper_bound(bounds.begin(), bounds.end(), keys[i]) - bounds.begin());
    ranges.push_back((range << bits) / (bounds.size() + 1));
  }
  uint64_t place = 0;
  for (int bit = bits - 1; bit >= 0; --bit) {
    for (const uint64_t range : ranges) place = place << 1 | (range >> bit & 1);
  }
  return place;
}

std::vector<uint64_t> SpaceCurve::places(const arrow::RecordBatch& rows) const {
  const auto values = curveValues(rows, columns_);
  std::vector<uint64_t> places(static_cast<size_t>(rows.num_rows()));
  std::vector<std::string> keys(values.size());
  for (int64_t row = 0; row < rows.num_rows(); ++row) {
    for (size_t i = 0; i < values.size(); ++i) keys[i] = keyOf(encoders_[i], values[i], row);
    places[static_cast<size_t>(row)] = placeOf(keys);
  }
  return places;
}

std::vector<uint64_t> SpaceCurve::cuts(int count) const {
  std::vector<uint64_t> cuts;
  for (size_t part = 1; part < static_cast<size_t>(count) && !sample_.empty(); ++part) {
    const uint64_t cut = sample_[sample_.size() * part / static_cast<size_t>(count)];
    if (cut > sample_.front() && (cuts.empty() || cuts.back() < cut)) cuts.push_back(cut);
  }
  return cuts;
}

CurveSample::CurveSample(std::vector<CurveColumn> columns) {
  THALWEG_ASSERT(!columns.empty() && columns.size() <= kPlaceBits);
  for (const CurveColumn& column : columns)
    curve_.encoders_.emplace_back(std::vector<KeyColumn>{{column.type}});
  curve_.columns_ = std::move(columns);
}

// Each row so far is in the sample with the same probability (reservoir sampling).
void CurveSample::add(const arrow::RecordBatch& rows) {
  const auto values = curveValues(rows, curve_.columns_);
  for (int64_t row = 0; row < rows.num_rows(); ++row) {
    ++numRows_;
    size_t place = rows_.size();
    if (place == kSampleRows) {
      place = std::uniform_int_distribution<size_t>(0, static_cast<size_t>(numRows_) - 1)(random_);
      if (place >= kSampleRows) continue;
    } else {
      rows_.emplace_back();
    }
    std::vector<std::string>& keys = rows_[place];
    keys.clear();
    for (size_t i = 0; i < values.size(); ++i) keys.push_back(keyOf(curve_.encoders_[i], values[i], row));
  }
}

SpaceCurve CurveSample::finish(std::vector<CurveColumn> columns) && {
  curve_.columns_ = std::move(columns);
  const int bits = std::min(kMaxBits, kPlaceBits / static_cast<int>(curve_.columns_.size()));
  for (size_t i = 0; i < curve_.columns_.size(); ++i) {
    std::vector<std::string> keys;
    keys.reserve(rows_.size());
    for (const auto& row : rows_) keys.push_back(row[i]);
    curve_.bounds_.push_back(boundsOf(std::move(keys), bits));
  }
  for (const auto& row : rows_) curve_.sample_.push_back(curve_.placeOf(row));
  std::sort(curve_.sample_.begin(), curve_.sample_.end());
  return std::move(curve_);
}

}  // namespace thalweg::delta
