#include "common/logging.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "common/secret.h"

namespace thalweg {
namespace {

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = spdlog::stderr_logger_mt("thalweg");
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %^%l%$ %v", spdlog::pattern_time_type::utc);
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return *instance;
}

spdlog::level::level_enum toSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::Debug: return spdlog::level::debug;
    case LogLevel::Info: return spdlog::level::info;
    case LogLevel::Warn: return spdlog::level::warn;
    case LogLevel::Error: return spdlog::level::err;
  }
  return spdlog::level::err;
}

// User text must not be able to forge log lines.
std::string escapeControls(std::string text) {
  std::string escaped;
  for (unsigned char c : text) {
    if (c < 0x20 || c == 0x7f) {
      escaped += fmt::format("\\x{:02x}", c);
    } else {
      escaped += static_cast<char>(c);
    }
  }
  return escaped;
}

}  // namespace

void setLogLevel(LogLevel level) { logger().set_level(toSpdlog(level)); }

bool logEnabled(LogLevel level) { return logger().should_log(toSpdlog(level)); }

void logLine(LogLevel level, std::string_view text) {
  logger().log(toSpdlog(level), "{}", escapeControls(maskSecrets(text)));
}

}  // namespace thalweg
