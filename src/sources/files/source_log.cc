#include "sources/files/source_log.h"

#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/fault_points.h"
#include "common/json_text.h"
#include "common/logging.h"
#include "storage/resolved_put.h"
#include "types/text/number_text.h"

namespace thalweg {
namespace {

constexpr std::string_view kHeader = "v1";
constexpr std::string_view kCompactSuffix = ".compact";

Error corrupt(const std::string& place, const std::string& what) {
  return Error("STREAMING_CHECKPOINT_LOG_CORRUPT", fmt::format("The file source's log {} {}.", place, what),
               {{"path", place}});
}

void checkHeader(std::string_view line, const std::string& place) {
  if (line == kHeader) return;
  const bool newer = line.starts_with('v') && parseIntegral(line.substr(1), 2, INT32_MAX, false);
  throw corrupt(place, newer ? "has a newer version than 1: it was written by a later release, use that one"
                             : "does not begin with the line v1");
}

SourceLogEntry parseEntry(std::string_view line, const std::string& place) {
  const auto json = parseJson(line);
  const auto number = [&](const char* name, std::optional<int64_t> fallback) -> int64_t {
    const auto it = json.find(name);
    if (it == json.end() && fallback) return *fallback;
    if (it == json.end() || !it->is_number_integer())
      throw corrupt(place, fmt::format("has an entry without a number '{}'", name));
    if (it->is_number_unsigned() && it->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
      throw corrupt(place, fmt::format("has an entry whose '{}' is too large", name));
    }
    return it->get<int64_t>();
  };
  if (!json.is_object()) throw corrupt(place, "has a line that is no JSON object");
  const auto path = json.find("path");
  if (path == json.end() || !path->is_string()) throw corrupt(place, "has an entry without a 'path'");
  return {path->get<std::string>(), number("timestamp", std::nullopt), number("batchId", -1)};
}

void appendJsonText(std::string_view text, std::string* out) {
  constexpr char kHex[] = "0123456789ABCDEF";
  *out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      *out += '\\';
      *out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      *out += "\\u00";
      *out += kHex[static_cast<unsigned char>(c) >> 4];
      *out += kHex[c & 15];
    } else {
      *out += c;
    }
  }
  *out += '"';
}

void appendEntry(const SourceLogEntry& entry, std::string* out) {
  *out += "\n{\"path\":";
  appendJsonText(entry.uri, out);
  *out += fmt::format(",\"timestamp\":{},\"batchId\":{}}}", entry.timestampMs, entry.batchId);
}

// The interval that fits a log with its only compaction at `latest`, should it be another than usual: as
// Spark derives it.
int64_t intervalFor(int64_t usual, int64_t latest) {
  const int64_t count = latest + 1;
  if (count <= usual || usual >= count / 2) return count;
  // A file's name may claim any number: the search ends where no log of ours would.
  constexpr int64_t kMaxInterval = 1'000'000;
  for (int64_t divisor = usual; divisor <= std::min(count / 2, kMaxInterval); ++divisor) {
    if (count % divisor == 0) return divisor;
  }
  return count;
}

}  // namespace

std::vector<SourceLogEntry> parseSourceLog(std::string_view contents, const std::string& place) {
  std::vector<SourceLogEntry> entries;
  size_t begin = std::min(contents.find('\n'), contents.size());
  checkHeader(contents.substr(0, begin), place);
  while (begin < contents.size()) {
    const size_t end = std::min(contents.find('\n', ++begin), contents.size());
    if (end > begin) entries.push_back(parseEntry(contents.substr(begin, end - begin), place));
    begin = end;
  }
  return entries;
}

std::string formatSourceLog(const std::vector<SourceLogEntry>& entries) {
  std::string text(kHeader);
  for (const SourceLogEntry& entry : entries) appendEntry(entry, &text);
  return text;
}

struct SourceLog::Names {
  std::set<int64_t> plain;
  std::set<int64_t> compact;
  int64_t latest() const {
    return std::max(plain.empty() ? -1 : *plain.rbegin(), compact.empty() ? -1 : *compact.rbegin());
  }
};

SourceLog::SourceLog(Location folder, const Clock& clock, Limits limits)
    : folder_(std::move(folder)), clock_(clock), limits_(limits), interval_(limits.compactInterval) {
  const Names names = list();
  latest_ = names.latest();
  if (names.compact.size() >= 2) {
    auto newest = names.compact.rbegin();
    const int64_t last = *newest++;
    interval_ = last - *newest;
  } else if (names.compact.size() == 1) {
    interval_ = intervalFor(limits.compactInterval, *names.compact.begin());
  }
}

SourceLog::Names SourceLog::list() const {
  Names names;
  for (const FileInfo& file : folder_.fileSystem->list(folder_.path)) {
    std::string_view name = file.name();
    const bool compact = name.ends_with(kCompactSuffix);
    if (compact) name.remove_suffix(kCompactSuffix.size());
    if (name.empty() || name.find_first_not_of("0123456789") != std::string_view::npos) continue;
    if (const auto number = parseIntegral(name, 0, INT64_MAX - 1, false))
      (compact ? names.compact : names.plain).insert(*number);
  }
  return names;
}

std::string SourceLog::nameOf(int64_t batchId) const {
  return std::to_string(batchId) + (isCompaction(batchId) ? std::string(kCompactSuffix) : "");
}

std::string SourceLog::readText(const std::string& name) const {
  return folder_.fileSystem->readAll(folder_.child(name).path);
}

void SourceLog::restore(const std::function<void(const SourceLogEntry&)>& use) const {
  const Names names = list();
  const int64_t latest = names.latest();
  int64_t next = 0;
  if (!names.compact.empty()) {
    const int64_t base = *names.compact.rbegin();
    const std::string name = std::to_string(base) + std::string(kCompactSuffix);
    for (const SourceLogEntry& entry : parseSourceLog(readText(name), folder_.child(name).path)) use(entry);
    next = base + 1;
  }
  for (; next <= latest; ++next) {
    const std::string name = std::to_string(next);
    if (!names.plain.contains(next))
      throw corrupt(folder_.path, fmt::format("has no entry {}, though later ones", next));
    for (const SourceLogEntry& entry : parseSourceLog(readText(name), folder_.child(name).path)) use(entry);
  }
}

// All earlier entries' lines as they stand, then the new ones.
std::string SourceLog::compacted(int64_t batchId, const std::vector<SourceLogEntry>& entries) const {
  std::string text(kHeader);
  const auto append = [&](const std::string& name) {
    std::string earlier = readText(name);
    while (earlier.ends_with('\n')) earlier.pop_back();
    const size_t lineEnd = std::min(earlier.find('\n'), earlier.size());
    checkHeader(std::string_view(earlier).substr(0, lineEnd), folder_.child(name).path);
    text += std::string_view(earlier).substr(lineEnd);
  };
  const int64_t previous = batchId - interval_;
  if (previous >= 0) append(nameOf(previous));
  for (int64_t id = std::max<int64_t>(previous + 1, 0); id < batchId; ++id) append(nameOf(id));
  for (const SourceLogEntry& entry : entries) appendEntry(entry, &text);
  return text;
}

void SourceLog::add(const std::vector<SourceLogEntry>& entries) {
  const int64_t batchId = latest_ + 1;
  const std::string path = folder_.child(nameOf(batchId)).path;
  const std::string text = isCompaction(batchId) ? compacted(batchId, entries) : formatSourceLog(entries);
  passFaultPoint(FaultPoint::SourceLogBefore);
  const PutOutcome outcome = putIfAbsentResolved(*folder_.fileSystem, path, text);
  passFaultPoint(FaultPoint::SourceLogAfter);
  if (outcome != PutOutcome::Done) {
    throw Error("CONCURRENT_STREAM_LOG_UPDATE",
                fmt::format("Another run of this query wrote entry {} of the log {}: stop one of them.",
                            batchId, folder_.path),
                {{"batchId", std::to_string(batchId)}, {"path", path}});
  }
  latest_ = batchId;
  lastAdded_ = entries;
  removeExpired(batchId);
}

std::vector<SourceLogEntry> SourceLog::read(int64_t first, int64_t last) const {
  std::vector<SourceLogEntry> found;
  std::map<int64_t, std::vector<SourceLogEntry>> fromCompaction;
  bool searched = false;
  const auto append = [&](std::vector<SourceLogEntry> entries, int64_t batchId, bool only) {
    for (SourceLogEntry& entry : entries) {
      if (!only || entry.batchId == batchId) found.push_back(std::move(entry));
    }
  };
  for (int64_t id = first; id <= last; ++id) {
    if (id == latest_ && !lastAdded_.empty()) {
      append(lastAdded_, id, false);
      continue;
    }
    const std::string name = nameOf(id);
    const size_t before = found.size();
    if (folder_.fileSystem->stat(folder_.child(name).path)) {
      append(parseSourceLog(readText(name), folder_.child(name).path), id, isCompaction(id));
    } else {
      // Older files were removed: the newest compaction has their entries.
      if (!searched) {
        const Names names = list();
        if (!names.compact.empty()) {
          const std::string compact = std::to_string(*names.compact.rbegin()) + std::string(kCompactSuffix);
          for (SourceLogEntry& entry : parseSourceLog(readText(compact), folder_.child(compact).path)) {
            if (entry.batchId >= first && entry.batchId <= last)
              fromCompaction[entry.batchId].push_back(std::move(entry));
          }
        }
        searched = true;
      }
      append(std::move(fromCompaction[id]), id, false);
    }
    if (found.size() == before) throw corrupt(folder_.path, fmt::format("has no entry {}", id));
  }
  return found;
}

void SourceLog::removeExpired(int64_t currentBatch) const {
  if (!isCompaction(currentBatch) || currentBatch < limits_.minBatchesToRetain) return;
  const int64_t firstKept = currentBatch + 1 - limits_.minBatchesToRetain;
  // The newest compaction before what is kept holds all that goes.
  const int64_t compaction = firstKept - firstKept % interval_ - 1;
  const int64_t expired = clock_.nowMillis() - limits_.cleanupDelayMs;
  try {
    for (const FileInfo& file : folder_.fileSystem->list(folder_.path)) {
      std::string_view name = file.name();
      if (name.ends_with(kCompactSuffix)) name.remove_suffix(kCompactSuffix.size());
      if (name.empty() || name.find_first_not_of("0123456789") != std::string_view::npos) continue;
      const auto number = parseIntegral(name, 0, INT64_MAX - 1, false);
      if (number && *number < compaction && file.modificationTimeMs <= expired)
        folder_.fileSystem->remove(file.path);
    }
  } catch (const Error& error) {
    // The entry is written; what could not be removed is tried again at the next compaction.
    logWarn("the file source's log {} keeps old entries: {}", folder_.path, error.text());
  }
}

}  // namespace thalweg
