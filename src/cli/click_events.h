// Made-up click events for the demo: the same for the same seed on every machine, so that what a job made of them can be
// checked by arithmetic.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg::cli {

// The event with a given number is a function of seed and number alone: a broker that forgot its records is refilled with
// the very same ones. Used by one thread.
class ClickEvents {
 public:
  explicit ClickEvents(uint64_t seed);

  // One event. The views live until the next call.
  struct Event {
    std::string_view userId;  // "u012345", the record's key
    std::string_view json;    // user_id, product_id, action, timestamp, price; about 113 bytes
    int64_t timestampMs = 0;  // event time: four events a second from 2026-01-15T10:00:00Z
    int64_t priceCents = 0;
  };
  Event event(int64_t number);

 private:
  uint64_t seed_;
  std::vector<double> cumulativeWeights_;  // of the products by rank: popular ones are far more often bought
  std::string userId_;
  std::string json_;
};

}  // namespace thalweg::cli
