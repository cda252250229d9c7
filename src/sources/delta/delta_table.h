// One version of a Delta table as a batch table.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/options.h"
#include "connector/table.h"
#include "delta/scan/table_layout.h"
#include "delta/snapshot/delta_log.h"

namespace thalweg {

class DeltaTable : public Table {
 public:
  // `resolve` gives absolute addresses in the log their store, checked against the server's path policy;
  // empty: files outside the table are refused.
  // `log`, where given, is the table's handle: latest() then gives its newest version.
  explicit DeltaTable(delta::SnapshotPtr snapshot, delta::AddressResolver resolve = {},
                      std::shared_ptr<delta::DeltaLog> log = nullptr);

  const SchemaPtr& schema() const override { return snapshot_->schema(); }
  // Splits of whole files, small ones together; files that no row of can match are left out.
  std::vector<SplitPtr> planScan(const std::vector<ScanPredicate>& predicates) const override;
  std::shared_ptr<Table> latest() const override;
  std::string description() const override;
  std::vector<std::string> inputFiles() const override;
  // From the files' statistics; nothing where one of them has none.
  std::optional<int64_t> rowCount() const override;

  const delta::SnapshotPtr& snapshot() const { return snapshot_; }

 private:
  std::shared_ptr<delta::DeltaLog> log_;
  delta::AddressResolver resolve_;
  delta::SnapshotPtr snapshot_;
  delta::TableLayoutPtr layout_;
};

// A path with its version in the name: "/data/t@v3", "/data/t@20260115103000000".
struct DeltaAddress {
  std::string path;
  std::optional<int64_t> version;
  std::optional<int64_t> timestampMs;
};
DeltaAddress parseDeltaAddress(std::string_view address);

// The version that options ask for: versionAsOf, timestampAsOf ("2026-01-15", "2026-01-15 10:00:00[.f]" or
// with T, in `timeZone` unless the text has an offset), or the address; else the newest. Throws Error
// DELTA_PATH_DOES_NOT_EXIST where the folder is missing, DELTA_MISSING_DELTA_TABLE where it is no Delta
// table, DELTA_VERSION_NOT_FOUND and the errors of versionAtTimestamp, INVALID_OPTION where both options are
// given or do not parse.
std::shared_ptr<DeltaTable> openDeltaTable(const std::shared_ptr<delta::DeltaLog>& log, const DeltaAddress& address,
                                           const Options& options, const std::string& timeZone,
                                           delta::AddressResolver resolve = {});

}  // namespace thalweg
