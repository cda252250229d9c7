// The Java exception classes under which Spark's clients know our errors.
#pragma once

#include <span>
#include <string_view>

#include "common/error.h"

namespace thalweg::connect {

// The class of the error first, then what it extends, up to java.lang.Object. The first that a client knows
// decides what it raises.
std::span<const std::string_view> javaClasses(const Error& error);

}  // namespace thalweg::connect
