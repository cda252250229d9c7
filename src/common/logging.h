// The server's log, on standard error: one line an event, secrets masked, control characters escaped.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace thalweg {

enum class LogLevel { Debug, Info, Warn, Error };

void setLogLevel(LogLevel level);
bool logEnabled(LogLevel level);
// Writes one line after maskSecrets. Thread-safe.
void logLine(LogLevel level, std::string_view text);

template <typename... Args>
void logInfo(fmt::format_string<Args...> format, Args&&... args) {
  if (logEnabled(LogLevel::Info)) logLine(LogLevel::Info, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void logWarn(fmt::format_string<Args...> format, Args&&... args) {
  if (logEnabled(LogLevel::Warn)) logLine(LogLevel::Warn, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void logError(fmt::format_string<Args...> format, Args&&... args) {
  logLine(LogLevel::Error, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void logDebug(fmt::format_string<Args...> format, Args&&... args) {
  if (logEnabled(LogLevel::Debug)) logLine(LogLevel::Debug, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace thalweg
