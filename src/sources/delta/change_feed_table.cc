#include "sources/delta/change_feed_table.h"

#include <limits>

#include "common/error.h"
#include "delta/files/column_mapping.h"
#include "delta/scan/file_skipping.h"
#include "sources/delta/delta_table.h"
#include "types/text/number_text.h"

namespace thalweg {
namespace {

struct Bound {
  int64_t version = 0;
  std::optional<int64_t> timestampMs;  // where a time was given
};

std::optional<int64_t> versionBound(const Options& options, const std::string& name) {
  const auto text = options.get(name);
  if (!text) return std::nullopt;
  const auto version = parseIntegral(*text, std::numeric_limits<int64_t>::min(),
                                     std::numeric_limits<int64_t>::max() - 1, false);
  if (version) return version;
  throw Error("DELTA_VERSION_INVALID",
              "The option " + name + " is '" + *text + "', which is no version number.",
              {{"version", *text}});
}

void refuseBoth(const Options& options, const char* version, const char* timestamp) {
  if (!options.has(version) || !options.has(timestamp)) return;
  throw Error("DELTA_MULTIPLE_CDC_BOUNDARY",
              fmt::format("Give either {} or {}, not both.", version, timestamp),
              {{"startingOrEnding", std::string(version).starts_with("starting") ? "starting" : "ending"}});
}

std::optional<Bound> startBound(const delta::Snapshot& newest, const Options& options,
                                const std::string& timeZone) {
  refuseBoth(options, "startingVersion", "startingTimestamp");
  if (const auto version = versionBound(options, "startingVersion")) return Bound{*version, std::nullopt};
  const auto text = options.get("startingTimestamp");
  if (!text) return std::nullopt;
  const int64_t timeMs = parseTravelTime(*text, timeZone);
  return Bound{delta::firstVersionSince(newest, timeMs), timeMs};
}

std::optional<Bound> endBound(const delta::Snapshot& newest, const Options& options,
                              const std::string& timeZone) {
  refuseBoth(options, "endingVersion", "endingTimestamp");
  if (const auto version = versionBound(options, "endingVersion")) return Bound{*version, std::nullopt};
  const auto text = options.get("endingTimestamp");
  if (!text) return std::nullopt;
  const int64_t timeMs = parseTravelTime(*text, timeZone);
  return Bound{delta::versionAtTimestamp(newest, timeMs), timeMs};
}

void checkRange(const Bound& start, const std::optional<Bound>& end) {
  if (!end) return;
  const bool timesGoBack = start.timestampMs && end->timestampMs && *start.timestampMs > *end->timestampMs;
  // Two times with no version between them are a range without changes.
  const bool between = start.timestampMs && end->timestampMs && end->version == start.version - 1;
  if (!timesGoBack && (between || end->version >= start.version)) return;
  throw Error("DELTA_INVALID_CDC_RANGE",
              fmt::format("The changes are asked for from version {} to version {}, which is before it.",
                          start.version, end->version),
              {{"start", std::to_string(start.version)}, {"end", std::to_string(end->version)}});
}

bool isMapped(const delta::Metadata& metadata) {
  return delta::columnMappingMode(metadata) != delta::ColumnMappingMode::None;
}

// The newest schema; under column mapping, where names come and go, that of the range's end.
delta::SnapshotPtr readingSnapshot(delta::DeltaLog& log, const delta::SnapshotPtr& newest, int64_t first,
                                   const std::optional<int64_t>& last) {
  if (!last || *last >= newest->version()) return newest;
  delta::SnapshotPtr end = log.snapshotAt(*last);
  const bool mapped =
      isMapped(newest->metadata()) || isMapped(end->metadata()) || isMapped(delta::metadataAt(log, first));
  return mapped ? end : newest;
}

}  // namespace

ChangeFeedTable::ChangeFeedTable(std::shared_ptr<delta::DeltaLog> log, delta::SnapshotPtr reading,
                                 std::optional<int64_t> first, std::optional<int64_t> last,
                                 const TimeZone& zone)
    : log_(std::move(log)),
      reading_(std::move(reading)),
      first_(first),
      last_(last),
      scan_(DeltaScan::make(delta::makeTableLayout(*reading_, zone), reading_->metadata(),
                            DeltaScan::Columns::Changes)) {}

std::vector<SplitPtr> ChangeFeedTable::planScan(const std::vector<ColumnPredicate>& predicates) const {
  if (!first_) return {};
  const int64_t newest = log_->require()->version();
  std::vector<delta::ChangedFile> files =
      delta::readChanges(*log_, {*first_, last_ ? std::min(*last_, newest) : newest}, *reading_);
  const delta::FileFilter filter(*scan_->layout, predicates);
  if (!filter.empty()) {
    std::erase_if(files, [&](const delta::ChangedFile& file) { return !filter.mayMatch(file.file); });
  }
  return splitDeltaFiles(scan_, std::move(files));
}

std::string ChangeFeedTable::description() const {
  if (!first_) return fmt::format("delta {} changes of no version", reading_->table().uri());
  return fmt::format("delta {} changes of versions {} to {}", reading_->table().uri(), *first_,
                     last_ ? std::to_string(*last_) : "the newest");
}

std::shared_ptr<Table> openChangeFeed(const std::shared_ptr<delta::DeltaLog>& log,
                                      const DeltaAddress& address, const Options& options,
                                      const std::string& timeZone) {
  if (address.travels() || asksForVersion(options)) {
    throw Error("DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS",
                "Changes are read between versions, not at one: give startingVersion and endingVersion.");
  }
  const delta::SnapshotPtr newest = requireDeltaTable(*log);
  const auto start = startBound(*newest, options, timeZone);
  if (!start) {
    throw Error("DELTA_NO_START_FOR_CDC_READ", "Reading changes needs startingVersion or startingTimestamp.");
  }
  const auto end = endBound(*newest, options, timeZone);
  if (start->version > newest->version()) {
    throw Error(
        "DELTA_CDC_START_VERSION_AFTER_LATEST",
        fmt::format("The changes are asked for from version {} on, but the newest version of {} is {}.",
                    start->version, newest->table().uri(), newest->version()),
        {{"start", std::to_string(start->version)}, {"latest", std::to_string(newest->version())}});
  }
  checkRange(*start, end);
  if (end && end->version < start->version)
    return std::make_shared<ChangeFeedTable>(log, newest, std::nullopt, std::nullopt);
  const std::optional<int64_t> last = end ? std::optional(end->version) : std::nullopt;
  auto reading = readingSnapshot(*log, newest, start->version, last);
  return std::make_shared<ChangeFeedTable>(log, std::move(reading), start->version, last,
                                           TimeZone::parse(timeZone));
}

}  // namespace thalweg
