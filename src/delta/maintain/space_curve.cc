#include "delta/maintain/space_curve.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

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

// Replaces `key` by the front of a value's key.
void encodeKey(const KeyEncoder& encoder, const std::vector<std::shared_ptr<arrow::Array>>& values,
               int64_t row, std::string* key) {
  key->clear();
  encoder.append(values, row, key);
  if (key->size() > kMaxKeyBytes) key->resize(kMaxKeyBytes);
}

// The first bytes as a number: a smaller one is of a smaller key, an equal one says nothing.
unsigned __int128 frontOf(const std::string& key) {
  uint8_t bytes[16] = {};
  std::memcpy(bytes, key.data(), std::min(key.size(), sizeof(bytes)));
  unsigned __int128 front = 0;
  for (const uint8_t byte : bytes) front = front << 8 | byte;
  return front;
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

// Values at equal distances among the sorted sample; none that would leave a range empty.
SpaceCurve::Ranges::Ranges(std::vector<std::string> keys, int bits) {
  std::sort(keys.begin(), keys.end());
  const size_t numRanges = size_t{1} << bits;
  for (size_t range = 1; range < numRanges; ++range) {
    const size_t at = keys.size() * range / numRanges;
    if (at >= keys.size() || keys[at] == keys.front()) continue;
    if (bounds_.empty() || bounds_.back() < keys[at]) bounds_.push_back(keys[at]);
  }
  for (const std::string& bound : bounds_) fronts_.push_back(frontOf(bound));
}

// A search without branches to mispredict, for every row takes it: after it, the bounds before `first` have
// lesser fronts.
size_t SpaceCurve::Ranges::find(const std::string& key) const {
  const unsigned __int128 front = frontOf(key);
  const unsigned __int128* const fronts = fronts_.data();
  size_t first = 0;
  for (size_t step = std::bit_floor(fronts_.size()); step > 0; step /= 2) {
    const size_t next = std::min(first + step, fronts_.size());
    first = fronts[next - 1] < front ? next : first;
  }
  if (first == fronts_.size() || fronts[first] != front) return first;
  return static_cast<size_t>(
      std::upper_bound(bounds_.begin() + static_cast<std::ptrdiff_t>(first), bounds_.end(), key) -
      bounds_.begin());
}

// A number of fewer bits than there are ranges for counts from the highest: few distinct values spread over
// the whole column all the same, so that columns weigh alike.
SpaceCurve::Axis SpaceCurve::makeAxis(size_t column, std::vector<std::string> keys) const {
  const size_t numColumns = columns_.size();
  const int bits = std::min(kMaxBits, kPlaceBits / static_cast<int>(numColumns));
  Axis axis{Ranges(std::move(keys), bits), {}};
  for (size_t range = 0; range < axis.ranges.count(); ++range) {
    const uint64_t number = (static_cast<uint64_t>(range) << bits) / axis.ranges.count();
    uint64_t place = 0;
    for (int bit = 0; bit < bits; ++bit)
      place |= (number >> bit & 1) << (static_cast<size_t>(bit) * numColumns + (numColumns - 1 - column));
    axis.bits.push_back(place);
  }
  return axis;
}

uint64_t SpaceCurve::placeOf(const std::vector<std::string>& keys) const {
  uint64_t place = 0;
  for (size_t i = 0; i < keys.size(); ++i) place |= axes_[i].bits[axes_[i].ranges.find(keys[i])];
  return place;
}

std::vector<uint64_t> SpaceCurve::places(const arrow::RecordBatch& rows) const {
  const auto values = curveValues(rows, columns_);
  std::vector<uint64_t> places(static_cast<size_t>(rows.num_rows()));
  std::string key;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::vector<std::shared_ptr<arrow::Array>> column = {values[i]};
    const Axis& axis = axes_[i];
    for (int64_t row = 0; row < rows.num_rows(); ++row) {
      encodeKey(encoders_[i], column, row, &key);
      places[static_cast<size_t>(row)] |= axis.bits[axis.ranges.find(key)];
    }
  }
  return places;
}

std::vector<int64_t> SpaceCurve::order(const arrow::RecordBatch& rows) const {
  std::vector<std::pair<uint64_t, int64_t>> placed;
  placed.reserve(static_cast<size_t>(rows.num_rows()));
  for (const uint64_t place : places(rows)) placed.emplace_back(place, static_cast<int64_t>(placed.size()));
  std::sort(placed.begin(), placed.end());
  std::vector<int64_t> order;
  order.reserve(placed.size());
  for (const auto& [place, row] : placed) order.push_back(row);
  return order;
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
  std::vector<std::vector<std::shared_ptr<arrow::Array>>> columns;
  for (auto& values : curveValues(rows, curve_.columns_)) columns.push_back({std::move(values)});
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
    keys.resize(columns.size());
    for (size_t i = 0; i < columns.size(); ++i) encodeKey(curve_.encoders_[i], columns[i], row, &keys[i]);
  }
}

SpaceCurve CurveSample::finish(std::vector<CurveColumn> columns) && {
  curve_.columns_ = std::move(columns);
  for (size_t i = 0; i < curve_.columns_.size(); ++i) {
    std::vector<std::string> keys;
    keys.reserve(rows_.size());
    for (const auto& row : rows_) keys.push_back(row[i]);
    curve_.axes_.push_back(curve_.makeAxis(i, std::move(keys)));
  }
  for (const auto& row : rows_) curve_.sample_.push_back(curve_.placeOf(row));
  std::sort(curve_.sample_.begin(), curve_.sample_.end());
  return std::move(curve_);
}

}  // namespace thalweg::delta
