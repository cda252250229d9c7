// Approximate quantiles in bounded space: Greenwald and Khanna's summary, with Spark's sizes, so that answers
// are Spark's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg {

class QuantileSummary {
 public:
  explicit QuantileSummary(double relativeError) : relativeError_(relativeError) {}
  void insert(double value);
  void merge(QuantileSummary other);
  int64_t count() const { return count_ + static_cast<int64_t>(head_.size()); }
  // What it takes in memory beside itself.
  int64_t valueBytes() const {
    return static_cast<int64_t>(samples_.capacity() * sizeof(Sample) + head_.capacity() * sizeof(double));
  }
  // The values at ranks percentages[i] · count. There must be values.
  std::vector<double> query(const std::vector<double>& percentages);
  // Spark's bytes, numbers big-endian: threshold of compression (4 bytes), relative error, count, number of
  // samples (4), and for each its value, g and delta.
  std::string encode();
  // Throws Error STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE for bytes of another form.
  static QuantileSummary decode(std::string_view bytes);

 private:
  // A value that was seen, how many ranks it stands for, and how uncertain its rank is.
  struct Sample {
    double value;
    int64_t g, delta;
  };
  void takeHead();
  void compress();
  static std::vector<Sample> compressed(const std::vector<Sample>& samples, double mergeThreshold);

  double relativeError_;
  std::vector<Sample> samples_;  // ascending
  int64_t count_ = 0;            // that the samples stand for
  std::vector<double> head_;     // values not yet among the samples
  bool isCompressed_ = true;
};

}  // namespace thalweg
