// HyperLogLog++'s measured constants, for precisions kMinPrecision to kMaxPrecision.
#pragma once

namespace thalweg::hyperloglog {

inline constexpr int kMinPrecision = 4;
inline constexpr int kMaxPrecision = 18;

// Estimates of linear counting up to these are taken, a precision each.
extern const double kLinearThresholds[15];
// A precision's points: so many raw estimates, ascending, and the bias at each; one precision's after the
// other's.
extern const int kNumPoints[15];
extern const double kRawEstimates[];
extern const double kBiases[];

}  // namespace thalweg::hyperloglog
