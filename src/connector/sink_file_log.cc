#include "connector/sink_file_log.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "common/json_text.h"

namespace thalweg {
namespace {

constexpr CompactedLog::Kind kKind{"The file sink's log", FaultPoint::SinkLogBefore,
                                   FaultPoint::SinkLogAfter};
// What Spark's local file system says of every file.
constexpr int64_t kBlockBytes = 32 << 20;

struct Line {
  SinkFileEntry file;
  bool isDelete = false;
};

Line parseLine(std::string_view text, const std::string& place) {
  const auto json = parseJson(text);
  if (!json.is_object()) throw corruptLog(kKind, place, "has a line that is no JSON object");
  const auto textOf = [&](const char* name) {
    const auto it = json.find(name);
    if (it == json.end() || !it->is_string())
      throw corruptLog(kKind, place, fmt::format("has an entry without a text '{}'", name));
    return it->get<std::string>();
  };
  const auto numberOf = [&](const char* name) {
    const auto it = json.find(name);
    const bool fits = it != json.end() && it->is_number_integer() &&
                      !(it->is_number_unsigned() && it->get<uint64_t>() > uint64_t{INT64_MAX});
    if (!fits || it->get<int64_t>() < 0)
      throw corruptLog(kKind, place, fmt::format("has an entry without a number '{}'", name));
    return it->get<int64_t>();
  };
  const std::string action = textOf("action");
  if (action != "add" && action != "delete")
    throw corruptLog(kKind, place, "has an entry whose action is neither 'add' nor 'delete'");
  return {{textOf("path"), numberOf("size"), numberOf("modificationTime")}, action == "delete"};
}

// Deletions, which early releases of Spark wrote, hold for what came before and after.
std::vector<SinkFileEntry> withoutDeleted(std::vector<Line> lines) {
  std::set<std::string> deleted;
  for (const Line& line : lines) {
    if (line.isDelete) deleted.insert(line.file.uri);
  }
  std::vector<SinkFileEntry> files;
  for (Line& line : lines) {
    if (!deleted.contains(line.file.uri)) files.push_back(std::move(line.file));
  }
  return files;
}

void appendEntry(const SinkFileEntry& file, std::string* out) {
  *out += "\n{\"path\":";
  appendLogText(file.uri, out);
  *out += fmt::format(
      R"(,"size":{},"isDir":false,"modificationTime":{},"blockReplication":1,"blockSize":{},"action":"add"}})",
      file.sizeBytes, file.modificationTimeMs, kBlockBytes);
}

}  // namespace

std::vector<SinkFileEntry> parseSinkFileLog(std::string_view contents, const std::string& place) {
  std::vector<Line> lines;
  visitLogLines(kKind, contents, place,
                [&](std::string_view line, const std::string& at) { lines.push_back(parseLine(line, at)); });
  return withoutDeleted(std::move(lines));
}

SinkFileLog::SinkFileLog(const Location& output, const Clock& clock, int64_t retentionMs, Limits limits)
    : log_(output.child(kSinkLogFolder), clock, limits, kKind), clock_(clock), retentionMs_(retentionMs) {}

bool SinkFileLog::isKept(int64_t modificationTimeMs) const {
  return retentionMs_ == kKeepAll || clock_.nowMillis() - modificationTimeMs <= retentionMs_;
}

std::vector<SinkFileEntry> SinkFileLog::files() const {
  std::vector<Line> lines;
  log_.visit(
      [&](std::string_view line, const std::string& place) { lines.push_back(parseLine(line, place)); });
  return withoutDeleted(std::move(lines));
}

void SinkFileLog::add(int64_t batchId, const std::vector<SinkFileEntry>& files) {
  THALWEG_ASSERT(batchId > latest());
  log_.skipTo(batchId);
  std::string lines;
  for (const SinkFileEntry& file : files) appendEntry(file, &lines);
  CompactedLog::LineFilter keep;
  if (retentionMs_ != kKeepAll) {
    keep = [this](std::string_view line) {
      return isKept(parseLine(line, log_.folder().path).file.modificationTimeMs);
    };
  }
  log_.add(lines, keep);
}

}  // namespace thalweg
