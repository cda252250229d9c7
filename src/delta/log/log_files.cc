#include "delta/log/log_files.h"

#include <charconv>
#include <vector>

#include <fmt/format.h>

namespace thalweg::delta {
namespace {

// A number of digits only; nullopt where it is none or does not fit.
template <typename Integer>
std::optional<Integer> parseDigits(std::string_view text) {
  Integer value = 0;
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> splitAtDots(std::string_view name) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t dot = name.find('.', begin);
    parts.push_back(name.substr(begin, dot == std::string_view::npos ? dot : dot - begin));
    if (dot == std::string_view::npos) return parts;
    begin = dot + 1;
  }
}

std::optional<LogFileName> parseCheckpoint(int64_t version, const std::vector<std::string_view>& parts) {
  LogFileName file{LogFileKind::ClassicCheckpoint, version, version};
  if (parts.size() == 3 && parts[2] == "parquet") return file;
  if (parts.size() == 4 && !parts[2].empty() && (parts[3] == "json" || parts[3] == "parquet")) {
    file.kind = LogFileKind::UuidCheckpoint;
    return file;
  }
  if (parts.size() == 5 && parts[4] == "parquet") {
    const auto part = parseDigits<int32_t>(parts[2]);
    const auto count = parseDigits<int32_t>(parts[3]);
    if (!part || !count || *part < 1 || *part > *count) return std::nullopt;
    file.kind = LogFileKind::MultiPartCheckpoint;
    file.part = *part;
    file.parts = *count;
    return file;
  }
  return std::nullopt;
}

}  // namespace

std::optional<LogFileName> parseLogFileName(std::string_view name) {
  const auto parts = splitAtDots(name);
  const auto version = parseDigits<int64_t>(parts[0]);
  if (!version || parts.size() < 2) return std::nullopt;
  if (parts.size() == 2) {
    if (parts[1] == "json") return LogFileName{LogFileKind::Commit, *version, *version};
    if (parts[1] == "crc") return LogFileName{LogFileKind::Checksum, *version, *version};
    return std::nullopt;
  }
  if (parts[1] == "checkpoint") return parseCheckpoint(*version, parts);
  if (parts.size() == 4 && parts[2] == "compacted" && parts[3] == "json") {
    const auto end = parseDigits<int64_t>(parts[1]);
    if (!end || *end < *version) return std::nullopt;
    return LogFileName{LogFileKind::Compacted, *version, *end};
  }
  return std::nullopt;
}

std::string commitFileName(int64_t version) {
  return fmt::format("{:020}.json", version);
}
std::string checksumFileName(int64_t version) {
  return fmt::format("{:020}.crc", version);
}
std::string classicCheckpointFileName(int64_t version) {
  return fmt::format("{:020}.checkpoint.parquet", version);
}
std::string partCheckpointFileName(int64_t version, int32_t part, int32_t parts) {
  return fmt::format("{:020}.checkpoint.{:010}.{:010}.parquet", version, part, parts);
}
std::string uuidCheckpointFileName(int64_t version, std::string_view unique, bool parquet) {
  return fmt::format("{:020}.checkpoint.{}.{}", version, unique, parquet ? "parquet" : "json");
}
std::string sidecarFileName(int64_t version, int64_t part, int64_t parts, std::string_view unique) {
  return fmt::format("{:020}.checkpoint.{:010}.{:010}.{}.parquet", version, part, parts, unique);
}
std::string firstNameOfVersion(int64_t version) {
  return fmt::format("{:020}.", version);
}

}  // namespace thalweg::delta
