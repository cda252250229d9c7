#include "common/fault_points.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <string>

#include "common/error.h"

namespace thalweg {
namespace {

constexpr std::array kNames = {
#define THALWEG_FAULT_NAME(id, name) std::string_view(name),
    THALWEG_FAULT_POINTS(THALWEG_FAULT_NAME)
#undef THALWEG_FAULT_NAME
};

struct Armed {
  std::mutex mutex;
  int point = -1;
  int passesLeft = 0;
  bool exits = false;
};

Armed& armed() {
  static Armed state;
  return state;
}

std::atomic<bool> anyArmed{false};

// Reads the environment once, before main.
const bool environmentRead = [] {
  if (const char* text = std::getenv("THALWEG_FAULT")) armFaultPoint(text);
  return true;
}();

void act(FaultPoint point) {
  Armed& state = armed();
  std::lock_guard lock(state.mutex);
  if (state.point != static_cast<int>(point) || --state.passesLeft > 0) return;
  if (state.exits) _exit(137);
  state.point = -1;
  anyArmed.store(false, std::memory_order_relaxed);
  throw Error("FAULT_INJECTED", "The armed fault point " + std::string(faultPointName(point)) + " fired.");
}

}  // namespace

std::string_view faultPointName(FaultPoint point) { return kNames[static_cast<size_t>(point)]; }

void passFaultPoint(FaultPoint point) {
  if (anyArmed.load(std::memory_order_relaxed)) act(point);
}

void armFaultPoint(std::string_view specification) {
  Armed& state = armed();
  std::lock_guard lock(state.mutex);
  state.point = -1;
  anyArmed.store(false, std::memory_order_relaxed);
  if (specification.empty()) return;
  const auto equals = specification.find('=');
  std::string_view name = specification.substr(0, equals);
  int passes = 1;
  if (const auto colon = name.find(':'); colon != std::string_view::npos) {
    std::from_chars(name.data() + colon + 1, name.data() + name.size(), passes);
    name = name.substr(0, colon);
  }
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) state.point = static_cast<int>(i);
  }
  THALWEG_ASSERT(state.point >= 0);
  state.passesLeft = passes;
  state.exits = equals != std::string_view::npos && specification.substr(equals + 1) == "exit";
  anyArmed.store(true, std::memory_order_relaxed);
}

}  // namespace thalweg
