// The library's two ways of failing (statuses and exceptions) as Errors that name the file.
#pragma once

#include <string>

#include <arrow/result.h>
#include <arrow/status.h>
#include <parquet/exception.h>

#include "common/error.h"

namespace thalweg {

inline Error parquetReadError(const std::string& path, const std::string& reason) {
  return Error("FAILED_READ_FILE.NO_HINT",
               "Cannot read the Parquet file " + path + ": " + reason +
                   ". It may be cut short, damaged or no Parquet file.",
               {{"path", path}});
}

inline void checkRead(const arrow::Status& status, const std::string& path) {
  if (!status.ok()) throw parquetReadError(path, status.message());
}

template <typename T>
T checkRead(arrow::Result<T> result, const std::string& path) {
  checkRead(result.status(), path);
  return std::move(result).ValueUnsafe();
}

// Runs a piece of reading and turns the library's exceptions into Errors.
template <typename Action>
auto reading(const std::string& path, Action&& action) {
  try {
    return action();
  } catch (const ::parquet::ParquetException& exception) {
    throw parquetReadError(path, exception.what());
  }
}

}  // namespace thalweg
