// The contract of a streaming source, driven by one micro-batch query.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/options.h"
#include "connector/read.h"
#include "storage/file_system.h"
#include "types/data_type.h"

namespace thalweg {

// A position in a source: the JSON text of its line in Spark's offset log, byte for byte.
using SourceOffset = std::string;

// What a source gets when a query opens it.
struct StreamSourceContext {
  Location metadataFolder;  // <checkpoint>/sources/<i>: the source's own log; made on first use
  std::string timeZone = "UTC";
  const Clock* clock = &systemClock();
  std::string queryId;
  const CancellationToken* cancellation = nullptr;
  // The session's settings when the query was started, for those that are a source's own.
  std::map<std::string, std::string> settings = {};
  // The schema that the query was planned with; a source whose schema may change from load to start checks it. May be null.
  SchemaPtr schema = nullptr;
};

// One source of one query. All calls come from the query's thread, except the splits' own. Order of a life:
//   [prepareForAvailableNow] → latestOffset/plan/commit per batch → close (by destruction).
// Offsets given to it are ones it made itself, or Spark did, in an earlier run: text that does not parse is an Error naming
// the checkpoint as its place.
class StreamSource {
 public:
  virtual ~StreamSource() = default;

  // All readable columns, hidden ones (such as _metadata) last; `visibleColumns` says how many a star gives.
  virtual const SchemaPtr& schema() const = 0;
  virtual int visibleColumns() const { return static_cast<int>(schema()->fields().size()); }

  // Whether an offset that a checkpoint holds is one that this source may have made: throws Error that says why not. Asked
  // once at the start, before any batch, of every offset that will be used; the caller adds the file and the line.
  virtual void checkLoggedOffset(const SourceOffset& offset) const {}

  // Whether this source can run beside another one of the same query: throws Error that says why not. Asked of each pair
  // once, before any batch.
  virtual void checkBeside(const StreamSource& other) const {}

  // As progress shows it: "KafkaV2[Subscribe[clicks]]".
  virtual std::string description() const = 0;

  // Where a query without a checkpoint starts, kept in the source's own log so that a restart before the first offset is
  // written starts from the same place. Null: the source has no rows yet to start from (Spark's '-').
  virtual std::optional<SourceOffset> initialOffset() = 0;

  // The end of the next batch after `start`, rate limits applied unless `ignoreLimits`; equal to `start` (or null) when
  // there is nothing new or a limit says to wait. Whatever the end depends on outside the source (a file list) is durable
  // in the source's own log before this returns.
  virtual std::optional<SourceOffset> latestOffset(const std::optional<SourceOffset>& start, bool ignoreLimits) = 0;

  // The newest position as of the last latestOffset call, limits not applied: progress' latestOffset. Null: unknown.
  virtual std::optional<SourceOffset> reportLatestOffset() { return std::nullopt; }

  // From now on latestOffset never passes what is there now (trigger availableNow). False: not supported, and the query
  // runs a single batch instead.
  virtual bool prepareForAvailableNow() { return false; }

  // The splits of (start, end], the same on every call with the same offsets.
  virtual std::vector<SplitPtr> plan(const std::optional<SourceOffset>& start, const SourceOffset& end) = 0;

  // The batch that ended at `end` is committed: older logs may go.
  virtual void commit(const SourceOffset& end) {}

  // progress' sources[].metrics after a batch that ended at `end`.
  virtual std::map<std::string, std::string> metrics(const SourceOffset& end) { return {}; }
};

}  // namespace thalweg
