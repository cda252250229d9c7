// Arrow's statuses as Errors, where they arise.
#pragma once

#include <utility>

#include <arrow/result.h>
#include <arrow/status.h>

#include "common/error.h"

namespace thalweg {

inline void throwIfFailed(const arrow::Status& status) {
  if (status.ok()) return;
  if (status.IsOutOfMemory()) throw Error("OUT_OF_MEMORY", "The server has no memory left for this operation.");
  throw internalError(status.ToString());
}

template <typename T>
T valueOrThrow(arrow::Result<T> result) {
  throwIfFailed(result.status());
  return std::move(result).ValueUnsafe();
}

}  // namespace thalweg
