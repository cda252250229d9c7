#include "delta/maintain/auto_compaction.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_set>

#include "common/error.h"
#include "common/logging.h"
#include "common/options.h"
#include "delta/maintain/optimize.h"
#include "delta/maintain/optimize_operation.h"
#include "delta/snapshot/table_features.h"
#include "types/text/number_text.h"

namespace thalweg::delta {
namespace {

constexpr size_t kMostTouched = 128;
// What is remembered of partitions is a few dozen bytes each.
constexpr size_t kMostRemembered = 100'000;

// Which partitions this process has looked at: the first write to each is an occasion to put it in order.
class SeenPartitions {
 public:
  bool isNew(const std::string& tableId, const PartitionValues& partition) {
    std::string key = tableId;
    for (const auto& [name, value] : partition) key += '\0' + name + '\0' + (value ? "=" + *value : "");
    const std::lock_guard lock(mutex_);
    if (keys_.size() >= kMostRemembered) keys_.clear();
    return keys_.insert(std::move(key)).second;
  }

 private:
  std::mutex mutex_;
  std::unordered_set<std::string> keys_;
};

SeenPartitions& seenPartitions() {
  static SeenPartitions seen;
  return seen;
}

std::set<PartitionValues> partitionsToCompact(const Snapshot& snapshot,
                                              const std::set<PartitionValues>& touched,
                                              const AutoCompactionRules& rules) {
  const bool all = touched.size() > kMostTouched;
  std::map<PartitionValues, int64_t> numSmall;
  snapshot.files().forEachLive([&](const FileRecord& record) {
    if (record.sizeBytes() >= rules.maxFileBytes / 2) return;
    PartitionValues values = record.toAdd(Statistics::LeftOut).partitionValues;
    if (all || touched.contains(values)) ++numSmall[std::move(values)];
  });
  std::set<PartitionValues> chosen;
  for (const auto& [values, count] : numSmall) {
    const bool isNew = !all && seenPartitions().isNew(snapshot.metadata().id, values);
    if (count >= rules.minNumFiles || isNew) chosen.insert(values);
  }
  return chosen;
}

OptimizeRequest requestFor(const std::set<PartitionValues>& partitions, const AutoCompactionRules& rules) {
  OptimizeRequest request;
  request.selects = [partitions](const AddFile& file) { return partitions.contains(file.partitionValues); };
  request.minFileBytes = rules.maxFileBytes / 2;
  request.maxFileBytes = rules.maxFileBytes;
  request.operation = optimizeOperation({.isAuto = true});
  return request;
}

}  // namespace

std::optional<AutoCompactionRules> autoCompactionRules(const Metadata& metadata,
                                                       const SettingLookup& setting) {
  std::optional<std::string> wanted = setting(kAutoCompactSetting);
  if (!wanted) wanted = tableProperty(metadata, "delta.autoOptimize.autoCompact");
  if (!wanted) wanted = tableProperty(metadata, "delta.autoOptimize");
  if (!wanted || !equalsIgnoreCase(*wanted, "true")) return std::nullopt;
  AutoCompactionRules rules;
  const auto number = [&](const char* key, int64_t fallback) {
    const auto text = setting(key);
    return (text ? parseIntegral(*text, 1, int64_t{1} << 50, false) : std::nullopt).value_or(fallback);
  };
  rules.minNumFiles = std::max<int64_t>(2, number(kAutoCompactMinFilesSetting, rules.minNumFiles));
  rules.maxFileBytes = number(kAutoCompactMaxSizeSetting, rules.maxFileBytes);
  return rules;
}

void compactAfterWrite(const std::shared_ptr<DeltaLog>& log, const std::set<PartitionValues>& touched,
                       const AutoCompactionRules& rules, int numTasks, const RunTasks& runTasks,
                       const CancellationToken* cancellation) noexcept {
  try {
    const SnapshotPtr snapshot = log->require();
    const auto partitions = partitionsToCompact(*snapshot, touched, rules);
    if (partitions.empty()) return;
    optimizeTable(log, snapshot, requestFor(partitions, rules), numTasks, runTasks, cancellation);
  } catch (...) {
    logWarn("Small files of {} were not merged after the write: {}", log->table().uri(),
            currentExceptionAsError().message());
  }
}

}  // namespace thalweg::delta
