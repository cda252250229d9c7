#include "connector/compacted_log.h"

#include <algorithm>
#include <set>

#include "common/logging.h"
#include "storage/resolved_put.h"
#include "types/text/number_text.h"

namespace thalweg {
namespace {

constexpr std::string_view kCompactSuffix = ".compact";

// The number of a file of the log; nothing for other names.
std::optional<int64_t> numberOf(std::string_view name) {
  if (name.ends_with(kCompactSuffix)) name.remove_suffix(kCompactSuffix.size());
  if (name.empty() || name.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return parseIntegral(name, 0, INT64_MAX - 1, false);
}

std::string compactName(int64_t number) {
  return std::to_string(number) + std::string(kCompactSuffix);
}

void checkHeader(const CompactedLog::Kind& kind, std::string_view line, const std::string& place) {
  if (line == kLogHeader) return;
  const bool newer = line.starts_with('v') && parseIntegral(line.substr(1), 2, INT32_MAX, false);
  throw corruptLog(kind, place,
                   newer ? "has a newer version than 1: it was written by a later release, use that one"
                         : "does not begin with the line v1");
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

Error corruptLog(const CompactedLog::Kind& kind, const std::string& place, const std::string& what) {
  return Error("STREAMING_CHECKPOINT_LOG_CORRUPT", fmt::format("{} {} {}.", kind.title, place, what),
               {{"path", place}});
}

void visitLogLines(const CompactedLog::Kind& kind, std::string_view text, const std::string& place,
                   const CompactedLog::LineVisitor& use) {
  size_t begin = std::min(text.find('\n'), text.size());
  checkHeader(kind, text.substr(0, begin), place);
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', ++begin), text.size());
    if (end > begin) use(text.substr(begin, end - begin), place);
    begin = end;
  }
}

void appendLogText(std::string_view text, std::string* out) {
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

struct CompactedLog::Names {
  std::set<int64_t> plain;
  std::set<int64_t> compact;
  int64_t latest() const {
    return std::max(plain.empty() ? -1 : *plain.rbegin(), compact.empty() ? -1 : *compact.rbegin());
  }
};

CompactedLog::CompactedLog(Location folder, const Clock& clock, Limits limits, const Kind& kind)
    : folder_(std::move(folder)),
      clock_(clock),
      limits_(limits),
      kind_(kind),
      interval_(limits.compactInterval) {
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

CompactedLog::Names CompactedLog::list() const {
  Names names;
  for (const FileInfo& file : folder_.fileSystem->list(folder_.path)) {
    const bool compact = file.name().ends_with(kCompactSuffix);
    if (const auto number = numberOf(file.name())) (compact ? names.compact : names.plain).insert(*number);
  }
  return names;
}

std::string CompactedLog::nameOf(int64_t number) const {
  return isCompaction(number) ? compactName(number) : std::to_string(number);
}

bool CompactedLog::has(int64_t number) const {
  return folder_.fileSystem->stat(folder_.child(nameOf(number)).path).has_value();
}

std::string CompactedLog::readText(const std::string& name) const {
  return folder_.fileSystem->readAll(folder_.child(name).path);
}

void CompactedLog::visit(const LineVisitor& use) const {
  const Names names = list();
  const int64_t latest = names.latest();
  const auto visitNamed = [&](const std::string& name) {
    visitLogLines(kind_, readText(name), folder_.child(name).path, use);
  };
  int64_t next = 0;
  if (!names.compact.empty()) {
    visitNamed(compactName(*names.compact.rbegin()));
    next = *names.compact.rbegin() + 1;
  }
  for (; next <= latest; ++next) {
    if (!names.plain.contains(next))
      throw corruptLog(kind_, folder_.path, fmt::format("has no entry {}, though later ones", next));
    visitNamed(std::to_string(next));
  }
}

bool CompactedLog::visitFile(int64_t number, const LineVisitor& use) const {
  if (!has(number)) return false;
  const std::string name = nameOf(number);
  visitLogLines(kind_, readText(name), folder_.child(name).path, use);
  return true;
}

void CompactedLog::visitNewestCompaction(const LineVisitor& use) const {
  const Names names = list();
  if (names.compact.empty()) return;
  const std::string name = compactName(*names.compact.rbegin());
  visitLogLines(kind_, readText(name), folder_.child(name).path, use);
}

// All earlier lines as they stand, then the new ones.
std::string CompactedLog::compacted(int64_t number, std::string_view lines, const LineFilter& keep) const {
  std::string text(kLogHeader);
  const auto append = [&](const std::string& name) {
    visitLogLines(kind_, readText(name), folder_.child(name).path, [&](std::string_view line, const auto&) {
      if (!keep || keep(line)) text.append("\n").append(line);
    });
  };
  const int64_t previous = number - interval_;
  if (previous >= 0) append(nameOf(previous));
  for (int64_t id = std::max<int64_t>(previous + 1, 0); id < number; ++id) append(nameOf(id));
  return text.append(lines);
}

void CompactedLog::put(int64_t number, const std::string& text) {
  const std::string path = folder_.child(nameOf(number)).path;
  if (putIfAbsentResolved(*folder_.fileSystem, path, text) == PutOutcome::Done) {
    latest_ = number;
    return;
  }
  throw Error("CONCURRENT_STREAM_LOG_UPDATE",
              fmt::format("Another run of this query wrote entry {} of the log {}: stop one of them.", number,
                          folder_.path),
              {{"batchId", std::to_string(number)}, {"path", path}});
}

void CompactedLog::add(std::string_view lines, const LineFilter& keep) {
  const int64_t number = latest_ + 1;
  const std::string text =
      isCompaction(number) ? compacted(number, lines, keep) : std::string(kLogHeader).append(lines);
  passFaultPoint(kind_.before);
  put(number, text);
  passFaultPoint(kind_.after);
  removeExpired(number);
}

void CompactedLog::skipTo(int64_t number) {
  // An empty log's last compaction stands for all that came before it.
  const int64_t compaction = number - number % interval_ - 1;
  if (latest_ < 0 && compaction >= 0) put(compaction, std::string(kLogHeader));
  while (latest_ + 1 < number) add({});
}

void CompactedLog::removeExpired(int64_t current) const {
  if (!isCompaction(current) || current < limits_.minBatchesToRetain) return;
  const int64_t firstKept = current + 1 - limits_.minBatchesToRetain;
  // The newest compaction before what is kept holds all that goes.
  const int64_t compaction = firstKept - firstKept % interval_ - 1;
  const int64_t expired = clock_.nowMillis() - limits_.cleanupDelayMs;
  try {
    for (const FileInfo& file : folder_.fileSystem->list(folder_.path)) {
      const auto number = numberOf(file.name());
      if (number && *number < compaction && file.modificationTimeMs <= expired)
        folder_.fileSystem->remove(file.path);
    }
  } catch (const Error& error) {
    // The entry is written; what could not be removed is tried again at the next compaction.
    logWarn("{} {} keeps old entries: {}", kind_.title, folder_.path, error.text());
  }
}

}  // namespace thalweg
