#include "cli/click_events.h"

#include <date/date.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>

namespace thalweg::cli {
namespace {

constexpr int kProducts = 1000;
constexpr uint64_t kUsers = 50'000;
constexpr int64_t kFirstTimestampMs = 1'768'471'200'000;  // 2026-01-15T10:00:00Z
constexpr int64_t kMillisBetweenEvents = 250;
constexpr uint64_t kJitterMs = 2000;

// SplitMix64 (Steele, Lea, Flood 2014): any counter gives independent numbers.
uint64_t mix(uint64_t state) {
  state += 0x9e3779b97f4a7c15ULL;
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9ULL;
  state = (state ^ (state >> 27)) * 0x94d049bb133111ebULL;
  return state ^ (state >> 31);
}

double unitInterval(uint64_t random) { return static_cast<double>(random >> 11) * 0x1p-53; }

std::string_view actionOf(uint64_t percent) {
  if (percent < 70) return "view";
  if (percent < 84) return "add_to_cart";
  if (percent < 88) return "remove_from_cart";
  if (percent < 93) return "wishlist";
  return "purchase";
}

}  // namespace

ClickEvents::ClickEvents(uint64_t seed) : seed_(seed) {
  double sum = 0;
  for (int rank = 1; rank <= kProducts; ++rank) cumulativeWeights_.push_back(sum += 1.0 / rank);
}

ClickEvents::Event ClickEvents::event(int64_t number) {
  uint64_t state = mix(seed_) ^ static_cast<uint64_t>(number);
  const auto draw = [&state] { return state = mix(state); };
  const uint64_t user = draw() % kUsers;
  const double weight = unitInterval(draw()) * cumulativeWeights_.back();
  const auto found = std::upper_bound(cumulativeWeights_.begin(), cumulativeWeights_.end(), weight);
  const auto rank = static_cast<uint64_t>(std::min<int64_t>(found - cumulativeWeights_.begin(), kProducts - 1));
  // 377 has no factor in common with 1000: ranks are spread over the ids, each id once.
  const uint64_t product = rank * 377 % kProducts + 1;
  const std::string_view action = actionOf(draw() % 100);
  const auto listPrice = static_cast<int64_t>(300 + mix(product) % 9700);
  const int64_t priceCents = listPrice * static_cast<int64_t>(80 + draw() % 41) / 100;
  const int64_t timestampMs = kFirstTimestampMs + number * kMillisBetweenEvents - static_cast<int64_t>(draw() % kJitterMs);

  userId_.clear();
  fmt::format_to(std::back_inserter(userId_), "u{:06}", user);
  const date::sys_time<std::chrono::milliseconds> time{std::chrono::milliseconds(timestampMs)};
  const auto day = date::floor<date::days>(time);
  const date::year_month_day calendar(day);
  const date::hh_mm_ss clock(time - day);
  json_.clear();
  fmt::format_to(std::back_inserter(json_),
                 R"({{"user_id":"{}","product_id":"p{:05}","action":"{}","timestamp":"{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",)"
                 R"("price":{}.{:02}}})",
                 userId_, product, action, static_cast<int>(calendar.year()), static_cast<unsigned>(calendar.month()),
                 static_cast<unsigned>(calendar.day()), clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                 clock.subseconds().count(), priceCents / 100, priceCents % 100);
  return {userId_, json_, timestampMs, priceCents};
}

}  // namespace thalweg::cli
