// Auto compaction after a batch write, as Delta does it: the partitions that the write touched are put in
// order before the statement ends. (Behind streams that the engine paces, compaction.h does that in the
// background.)
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "common/cancellation.h"
#include "common/setting_lookup.h"
#include "delta/actions/actions.h"
#include "delta/modify/table_edit.h"
#include "delta/snapshot/delta_log.h"

namespace thalweg::delta {

// The session's settings, under Spark's names.
inline constexpr const char* kAutoCompactSetting = "spark.databricks.delta.autoCompact.enabled";
inline constexpr const char* kAutoCompactMinFilesSetting = "spark.databricks.delta.autoCompact.minNumFiles";
inline constexpr const char* kAutoCompactMaxSizeSetting = "spark.databricks.delta.autoCompact.maxFileSize";

struct AutoCompactionRules {
  int64_t minNumFiles = 50;                   // small files of a partition
  int64_t maxFileBytes = int64_t{128} << 20;  // of a file that is made; half of it is small
};

// What the setting asks for, or where it says nothing the table's properties delta.autoOptimize.autoCompact
// and delta.autoOptimize. nullopt: nothing is to be compacted.
std::optional<AutoCompactionRules> autoCompactionRules(const Metadata& metadata,
                                                       const SettingLookup& setting);

// Compacts partitions of `touched` that have as many small files as the rules say, or that this process has
// not looked at before; of all partitions where `touched` are too many (128). In a commit OPTIMIZE, `auto`
// true, which changes no data. Never fails: what goes wrong is logged, and the table is as the write left it.
void compactAfterWrite(const std::shared_ptr<DeltaLog>& log, const std::set<PartitionValues>& touched,
                       const AutoCompactionRules& rules, int numTasks, const RunTasks& runTasks,
                       const CancellationToken* cancellation) noexcept;

}  // namespace thalweg::delta
