// Settings of a session that concern the wire.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace thalweg {
class SessionService;
}

namespace thalweg::connect {

// Spark's form of durations ("2s", "500ms", "2m", "1h"; a bare number counts milliseconds) and of sizes
// ("1g", "64k", "10mb"; a bare number counts bytes). Nothing for other text.
std::optional<std::chrono::milliseconds> parseDuration(std::string_view text);
std::optional<int64_t> parseByteSize(std::string_view text);

// The session's setting; the fallback where it is not set or does not parse.
std::chrono::milliseconds durationSetting(SessionService& session, std::string_view key,
                                          std::chrono::milliseconds fallback);
int64_t byteSizeSetting(SessionService& session, std::string_view key, int64_t fallback);

}  // namespace thalweg::connect
