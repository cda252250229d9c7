// Errors kept for FetchErrorDetails, each taken once by the session that met it.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "common/error.h"
#include "connect/session_key.h"

namespace thalweg::connect {

// Any thread. Holds the latest kCapacity errors.
class ErrorStore {
 public:
  static constexpr size_t kCapacity = 1000;

  // Returns the id under which `owner` finds the error.
  std::string keep(const SessionKey& owner, const Error& error);
  // Nothing for an id that is unknown, another's, or was taken before.
  std::optional<Error> take(const SessionKey& owner, const std::string& errorId);

 private:
  struct Kept {
    SessionKey owner;
    Error error;
  };
  std::mutex mutex_;
  std::map<std::string, Kept> errors_;
  std::deque<std::string> order_;
};

}  // namespace thalweg::connect
