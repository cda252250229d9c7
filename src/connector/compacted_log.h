// Logs of files in Spark's form: files N with the line v1 and a line an entry; every tenth is N.compact and
// holds the lines of all before it too. File sources log what they have taken so, file sinks what they have
// written.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "common/error.h"
#include "common/fault_points.h"
#include "storage/file_system.h"

namespace thalweg {

// Used by one thread; other processes may write the same log, and then one of them gets an Error. What a line
// says is the caller's. Errors of what is found are STREAMING_CHECKPOINT_LOG_CORRUPT.
class CompactedLog {
 public:
  // What a kind of log is called in messages ("The file source's log"), and where a test may stop it.
  struct Kind {
    std::string_view title;
    FaultPoint before;
    FaultPoint after;
  };
  struct Limits {
    int64_t compactInterval = 10;
    int64_t minBatchesToRetain = 100;
    int64_t cleanupDelayMs = 10 * 60 * 1000;
  };
  // `place` names the line's file in errors.
  using LineVisitor = std::function<void(std::string_view line, const std::string& place)>;
  using LineFilter = std::function<bool(std::string_view line)>;

  CompactedLog(Location folder, const Clock& clock, Limits limits, const Kind& kind);

  const Location& folder() const { return folder_; }
  // The newest file's number as of the last call that looked or wrote; −1 for an empty log.
  int64_t latest() const { return latest_; }
  // Looks whether file N is there now, whoever wrote it.
  bool has(int64_t number) const;
  bool isCompaction(int64_t number) const { return (number + 1) % interval_ == 0; }

  // The lines of all files, oldest first. Throws where one between is missing.
  void visit(const LineVisitor& use) const;
  // Those of file N; false where there is none by its name.
  bool visitFile(int64_t number, const LineVisitor& use) const;
  // Those of the newest compaction; nothing where there is none.
  void visitNewestCompaction(const LineVisitor& use) const;

  // Writes the file latest() + 1, durable on return: `lines` each begin with a line break. In a compaction,
  // earlier lines that `keep` refuses are left out. Throws Error CONCURRENT_STREAM_LOG_UPDATE where another
  // run wrote it.
  void add(std::string_view lines, const LineFilter& keep = {});
  // Makes `number` the next file to add: those that Spark's readers expect before it come without lines.
  void skipTo(int64_t number);

 private:
  struct Names;
  Names list() const;
  std::string nameOf(int64_t number) const;
  std::string readText(const std::string& name) const;
  std::string compacted(int64_t number, std::string_view lines, const LineFilter& keep) const;
  void put(int64_t number, const std::string& text);
  void removeExpired(int64_t current) const;

  Location folder_;
  const Clock& clock_;
  Limits limits_;
  Kind kind_;
  int64_t interval_ = 10;
  int64_t latest_ = -1;
};

// Of a log of this kind that is not what it should be: "<title> <place> <what>."
Error corruptLog(const CompactedLog::Kind& kind, const std::string& place, const std::string& what);

// Every line of a file's text after its header, empty ones left out. Throws where the header is not v1.
void visitLogLines(const CompactedLog::Kind& kind, std::string_view text, const std::string& place,
                   const CompactedLog::LineVisitor& use);
inline constexpr std::string_view kLogHeader = "v1";

// A text as Spark's logs quote it: bytes as they are, but for quotes, backslashes and controls.
void appendLogText(std::string_view text, std::string* out);

}  // namespace thalweg
