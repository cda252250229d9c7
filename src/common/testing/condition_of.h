// For tests: which condition an action fails with.
#pragma once

#include <string>

#include "common/error.h"

namespace thalweg {

// The condition of the Error that `action` throws; "none" where it throws none.
template <typename Action>
std::string conditionOf(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.condition();
  }
  return "none";
}

}  // namespace thalweg
