// One version of a Delta table as a batch table.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connector/table.h"
#include "delta/scan/table_layout.h"
#include "delta/snapshot/delta_log.h"
#include "sources/delta/delta_scan.h"
#include "sources/delta/delta_time_travel.h"

namespace thalweg {

class DeltaTable : public Table {
 public:
  // `zone`: the session's. `log`, where given, is the table's handle: latest() then gives its newest version.
  explicit DeltaTable(delta::SnapshotPtr snapshot, TimeZone zone = {},
                      std::shared_ptr<delta::DeltaLog> log = nullptr);

  const SchemaPtr& schema() const override { return scan_->schema; }
  int visibleColumns() const override { return scan_->visibleColumns; }
  // Splits of whole files, small ones together; files that no row of can match are left out.
  std::vector<SplitPtr> planScan(const std::vector<ColumnPredicate>& predicates) const override;
  std::shared_ptr<Table> latest() const override;
  std::string description() const override;
  std::vector<std::string> inputFiles() const override;
  // From the files' statistics; nothing where one of them has none.
  std::optional<int64_t> rowCount() const override;
  std::optional<Version> version() const override;

  const delta::SnapshotPtr& snapshot() const { return snapshot_; }

 private:
  std::shared_ptr<delta::DeltaLog> log_;
  TimeZone zone_;
  delta::SnapshotPtr snapshot_;
  delta::TableLayoutPtr layout_;
  DeltaScanPtr scan_;
};

// The version that options or the address ask for (travelTo), else the newest. Throws Error
// PATH_NOT_FOUND where the folder is missing, DELTA_TABLE_NOT_FOUND where it is no Delta table, and as
// travelTo.
std::shared_ptr<DeltaTable> openDeltaTable(const std::shared_ptr<delta::DeltaLog>& log,
                                           const DeltaAddress& address, const Options& options,
                                           const std::string& timeZone);

// The newest snapshot, or the errors of openDeltaTable.
delta::SnapshotPtr requireDeltaTable(delta::DeltaLog& log);

}  // namespace thalweg
