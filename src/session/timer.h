// Jobs that run once after a delay, on one thread shared by the process.
#pragma once

#include <chrono>
#include <functional>

namespace thalweg {

// The job must be short; what it throws is logged. Any thread may call.
void runAfter(std::chrono::milliseconds delay, std::function<void()> job);

}  // namespace thalweg
