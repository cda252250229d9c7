#include "sources/files/source_log.h"

#include <map>

#include <nlohmann/json.hpp>

#include "common/json_text.h"

namespace thalweg {
namespace {

constexpr CompactedLog::Kind kKind{"The file source's log", FaultPoint::SourceLogBefore,
                                   FaultPoint::SourceLogAfter};

SourceLogEntry parseEntry(std::string_view line, const std::string& place) {
  const auto json = parseJson(line);
  const auto number = [&](const char* name, std::optional<int64_t> fallback) -> int64_t {
    const auto it = json.find(name);
    if (it == json.end() && fallback) return *fallback;
    if (it == json.end() || !it->is_number_integer())
      throw corruptLog(kKind, place, fmt::format("has an entry without a number '{}'", name));
    if (it->is_number_unsigned() && it->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
      throw corruptLog(kKind, place, fmt::format("has an entry whose '{}' is too large", name));
    }
    return it->get<int64_t>();
  };
  if (!json.is_object()) throw corruptLog(kKind, place, "has a line that is no JSON object");
  const auto path = json.find("path");
  if (path == json.end() || !path->is_string())
    throw corruptLog(kKind, place, "has an entry without a 'path'");
  return {path->get<std::string>(), number("timestamp", std::nullopt), number("batchId", -1)};
}

void appendEntry(const SourceLogEntry& entry, std::string* out) {
  *out += "\n{\"path\":";
  appendLogText(entry.uri, out);
  *out += fmt::format(",\"timestamp\":{},\"batchId\":{}}}", entry.timestampMs, entry.batchId);
}

}  // namespace

std::vector<SourceLogEntry> parseSourceLog(std::string_view contents, const std::string& place) {
  std::vector<SourceLogEntry> entries;
  visitLogLines(kKind, contents, place, [&](std::string_view line, const std::string&) {
    entries.push_back(parseEntry(line, place));
  });
  return entries;
}

std::string formatSourceLog(const std::vector<SourceLogEntry>& entries) {
  std::string text(kLogHeader);
  for (const SourceLogEntry& entry : entries) appendEntry(entry, &text);
  return text;
}

SourceLog::SourceLog(Location folder, const Clock& clock, Limits limits)
    : log_(std::move(folder), clock, limits, kKind) {}

void SourceLog::restore(const std::function<void(const SourceLogEntry&)>& use) const {
  log_.visit([&](std::string_view line, const std::string& place) { use(parseEntry(line, place)); });
}

void SourceLog::add(const std::vector<SourceLogEntry>& entries) {
  std::string lines;
  for (const SourceLogEntry& entry : entries) appendEntry(entry, &lines);
  log_.add(lines);
  lastAdded_ = entries;
}

std::vector<SourceLogEntry> SourceLog::read(int64_t first, int64_t last) const {
  std::vector<SourceLogEntry> found;
  std::map<int64_t, std::vector<SourceLogEntry>> fromCompaction;
  bool searched = false;
  for (int64_t id = first; id <= last; ++id) {
    if (id == latest() && !lastAdded_.empty()) {
      found.insert(found.end(), lastAdded_.begin(), lastAdded_.end());
      continue;
    }
    const size_t before = found.size();
    const bool there = log_.visitFile(id, [&](std::string_view line, const std::string& place) {
      SourceLogEntry entry = parseEntry(line, place);
      if (!log_.isCompaction(id) || entry.batchId == id) found.push_back(std::move(entry));
    });
    if (!there) {
      // Older files were removed: the newest compaction has their entries.
      if (!std::exchange(searched, true)) {
        log_.visitNewestCompaction([&](std::string_view line, const std::string& place) {
          SourceLogEntry entry = parseEntry(line, place);
          if (entry.batchId >= first && entry.batchId <= last)
            fromCompaction[entry.batchId].push_back(std::move(entry));
        });
      }
      for (SourceLogEntry& entry : fromCompaction[id]) found.push_back(std::move(entry));
    }
    if (found.size() == before)
      throw corruptLog(kKind, log_.folder().path, fmt::format("has no entry {}", id));
  }
  return found;
}

}  // namespace thalweg
