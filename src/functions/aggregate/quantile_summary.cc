#include "functions/aggregate/quantile_summary.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "common/error.h"

namespace thalweg {
namespace {

constexpr size_t kHeadSize = 50000;
constexpr int32_t kCompressThreshold = 10000;
constexpr size_t kHeaderBytes = 4 + 8 + 8 + 4;
constexpr size_t kSampleBytes = 24;
// Of a summary that is read: so that no sum of its ranks leaves a long.
constexpr int64_t kMostRanks = int64_t{1} << 40;

// As Java sorts doubles: NaN last, −0.0 before 0.0.
bool sortsBefore(double a, double b) {
  if (a < b) return true;
  if (a > b) return false;
  if (std::isnan(a) || std::isnan(b)) return !std::isnan(a);
  return std::signbit(a) && !std::signbit(b);
}

void append(uint64_t value, int numBytes, std::string* out) {
  for (int shift = 8 * (numBytes - 1); shift >= 0; shift -= 8)
    out->push_back(static_cast<char>(value >> shift));
}

uint64_t take(std::string_view* bytes, size_t numBytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < numBytes; ++i) value = value << 8 | static_cast<uint8_t>((*bytes)[i]);
  bytes->remove_prefix(numBytes);
  return value;
}

}  // namespace

void QuantileSummary::insert(double value) {
  head_.push_back(value);
  isCompressed_ = false;
  if (head_.size() < kHeadSize) return;
  takeHead();
  if (samples_.size() >= static_cast<size_t>(kCompressThreshold)) compress();
}

// Merges the head into the samples. The least and the greatest value know their rank.
void QuantileSummary::takeHead() {
  if (head_.empty()) return;
  std::sort(head_.begin(), head_.end(), sortsBefore);
  std::vector<Sample> merged;
  merged.reserve(samples_.size() + head_.size());
  size_t at = 0;
  for (size_t i = 0; i < head_.size(); ++i) {
    while (at < samples_.size() && samples_[at].value <= head_[i]) merged.push_back(samples_[at++]);
    ++count_;
    const bool isEnd = merged.empty() || (at == samples_.size() && i == head_.size() - 1);
    const double delta = isEnd ? 0 : std::floor(2 * relativeError_ * static_cast<double>(count_));
    merged.push_back({head_[i], 1, static_cast<int64_t>(delta)});
  }
  merged.insert(merged.end(), samples_.begin() + static_cast<int64_t>(at), samples_.end());
  samples_ = std::move(merged);
  head_.clear();
}

void QuantileSummary::compress() {
  if (isCompressed_) return;
  takeHead();
  samples_ = compressed(samples_, 2 * relativeError_ * static_cast<double>(count_));
  isCompressed_ = true;
}

// From the greatest down: a sample goes into the one above it where both together stay certain enough.
std::vector<QuantileSummary::Sample> QuantileSummary::compressed(const std::vector<Sample>& samples,
                                                                 double mergeThreshold) {
  if (samples.empty()) return {};
  std::vector<Sample> kept;
  Sample head = samples.back();
  for (size_t i = samples.size() - 1; i-- > 1;) {
    if (static_cast<double>(samples[i].g + head.g + head.delta) < mergeThreshold) {
      head.g += samples[i].g;
    } else {
      kept.push_back(head);
      head = samples[i];
    }
  }
  kept.push_back(head);
  if (samples.front().value <= head.value && samples.size() > 1) kept.push_back(samples.front());
  std::reverse(kept.begin(), kept.end());
  return kept;
}

void QuantileSummary::merge(QuantileSummary other) {
  compress();
  other.compress();
  if (other.count_ == 0) return;
  if (count_ == 0) {
    *this = std::move(other);
    return;
  }
  // Samples of one side suffer from what the other does not know exactly.
  const auto uncertainty = [](const QuantileSummary& summary) {
    return static_cast<int64_t>(std::floor(2 * summary.relativeError_ * static_cast<double>(summary.count_)));
  };
  const int64_t ofOther = uncertainty(other), ofThis = uncertainty(*this);
  std::vector<Sample> merged;
  size_t i = 0, k = 0;
  while (i < samples_.size() && k < other.samples_.size()) {
    Sample next{};
    if (samples_[i].value < other.samples_[k].value) {
      next = samples_[i++];
      next.delta += k > 0 ? ofOther : 0;
    } else {
      next = other.samples_[k++];
      next.delta += i > 0 ? ofThis : 0;
    }
    merged.push_back(next);
  }
  merged.insert(merged.end(), samples_.begin() + static_cast<int64_t>(i), samples_.end());
  merged.insert(merged.end(), other.samples_.begin() + static_cast<int64_t>(k), other.samples_.end());
  relativeError_ = std::max(relativeError_, other.relativeError_);
  count_ += other.count_;
  samples_ = compressed(merged, 2 * relativeError_ * static_cast<double>(count_));
}

std::vector<double> QuantileSummary::query(const std::vector<double>& percentages) {
  compress();
  std::vector<size_t> order(percentages.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return percentages[a] < percentages[b]; });
  int64_t most = 0;
  for (const Sample& sample : samples_) most = std::max(most, sample.delta + sample.g);
  const double error = static_cast<double>(most) / 2;
  std::vector<double> results(percentages.size());
  size_t at = 0;
  int64_t leastRank = samples_[0].g;
  for (const size_t which : order) {
    const double percentage = percentages[which];
    double& result = results[which];
    if (percentage <= relativeError_ || samples_.size() == 1) {
      result = samples_.front().value;
      continue;
    }
    result = samples_.back().value;
    if (percentage >= 1 - relativeError_) continue;
    const auto rank =
        static_cast<double>(static_cast<int64_t>(std::ceil(percentage * static_cast<double>(count_))));
    for (; at + 1 < samples_.size(); leastRank += samples_[++at].g) {
      const auto least = static_cast<double>(leastRank),
                 greatest = static_cast<double>(leastRank + samples_[at].delta);
      if (greatest - error > rank || rank > least + error) continue;
      result = samples_[at].value;
      break;
    }
  }
  return results;
}

std::string QuantileSummary::encode() {
  compress();
  std::string bytes;
  append(kCompressThreshold, 4, &bytes);
  append(std::bit_cast<uint64_t>(relativeError_), 8, &bytes);
  append(static_cast<uint64_t>(count_), 8, &bytes);
  append(samples_.size(), 4, &bytes);
  for (const Sample& sample : samples_) {
    append(std::bit_cast<uint64_t>(sample.value), 8, &bytes);
    append(static_cast<uint64_t>(sample.g), 8, &bytes);
    append(static_cast<uint64_t>(sample.delta), 8, &bytes);
  }
  return bytes;
}

QuantileSummary QuantileSummary::decode(std::string_view bytes) {
  const auto refuse = [] {
    throw Error("STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE",
                "The state of an aggregate function holds a summary of values cut short.",
                {{"errorMsg", "a summary of values is cut short"}});
  };
  if (bytes.size() < kHeaderBytes) refuse();
  take(&bytes, 4);
  QuantileSummary summary(std::bit_cast<double>(take(&bytes, 8)));
  summary.count_ = static_cast<int64_t>(take(&bytes, 8));
  const uint64_t numSamples = take(&bytes, 4);
  if (numSamples * kSampleBytes != bytes.size() || (numSamples == 0) != (summary.count_ == 0)) refuse();
  if (summary.count_ < 0 || summary.count_ > kMostRanks) refuse();
  for (uint64_t i = 0; i < numSamples; ++i) {
    const double value = std::bit_cast<double>(take(&bytes, 8));
    const auto g = static_cast<int64_t>(take(&bytes, 8));
    const auto delta = static_cast<int64_t>(take(&bytes, 8));
    if (g < 0 || delta < 0 || g > kMostRanks || delta > kMostRanks) refuse();
    summary.samples_.push_back({value, g, delta});
  }
  return summary;
}

}  // namespace thalweg
