// A Delta table's change data feed as a batch table.
#pragma once

#include <memory>
#include <optional>

#include "common/options.h"
#include "connector/table.h"
#include "delta/changes/change_range.h"
#include "delta/scan/table_layout.h"
#include "sources/delta/delta_scan.h"
#include "sources/delta/delta_time_travel.h"

namespace thalweg {

// The changes of versions first to last, or to the newest when it is scanned.
class ChangeFeedTable : public Table {
 public:
  // `reading` is the version whose schema the rows have; no `first`: no rows.
  ChangeFeedTable(std::shared_ptr<delta::DeltaLog> log, delta::SnapshotPtr reading,
                  std::optional<int64_t> first, std::optional<int64_t> last, const TimeZone& zone = {});

  const SchemaPtr& schema() const override { return scan_->schema; }
  // Throws Error as delta::readChanges. Files of partitions that no row of can match are left out.
  std::vector<SplitPtr> planScan(const std::vector<ColumnPredicate>& predicates) const override;
  std::string description() const override;

 private:
  std::shared_ptr<delta::DeltaLog> log_;
  delta::SnapshotPtr reading_;
  std::optional<int64_t> first_;
  std::optional<int64_t> last_;
  DeltaScanPtr scan_;
};

// By the options startingVersion or startingTimestamp, and endingVersion or endingTimestamp. Throws Error
// DELTA_NO_START_FOR_CDC_READ, DELTA_VERSION_INVALID, DELTA_TIMESTAMP_INVALID,
// DELTA_CDC_START_VERSION_AFTER_LATEST, DELTA_INVALID_CDC_RANGE, DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS, and the
// errors of openDeltaTable and of times that no version has.
std::shared_ptr<Table> openChangeFeed(const std::shared_ptr<delta::DeltaLog>& log,
                                      const DeltaAddress& address, const Options& options,
                                      const std::string& timeZone);

}  // namespace thalweg
