#include "delta/maintain/optimize.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "common/error.h"
#include "common/uuid.h"
#include "delta/files/statistics.h"
#include "delta/maintain/curve_columns.h"
#include "delta/maintain/curve_writer.h"
#include "delta/scan/value_bounds.h"
#include "delta/snapshot/clustering.h"
#include "delta/snapshot/table_features.h"

namespace thalweg::delta {
namespace {

constexpr std::string_view kClusteringProvider = "liquid";
constexpr const char* kCubeId = "ZCUBE_ID";
constexpr const char* kCubeColumns = "ZCUBE_ZORDER_BY";
// A cube that has grown so large is not sorted again with what has come since.
constexpr int64_t kFullCubeBytes = int64_t{100} << 30;
constexpr int64_t kCurveMemoryBytes = int64_t{256} << 20;  // over all tasks

using Kind = OptimizeRequest::Kind;

std::optional<int64_t> numRecords(const AddFile& file) {
  return file.stats ? StatisticsView(*file.stats).numRecords() : std::nullopt;
}

bool hasManyDeleted(const AddFile& file, double maxShare) {
  if (!file.deletionVector) return false;
  const auto records = numRecords(file);
  // Of a file that nothing is known of, only the rewrite can tell.
  if (!records || *records <= 0) return true;
  return static_cast<double>(file.deletionVector->cardinality) / static_cast<double>(*records) > maxShare;
}

// Of statistics only the number of rows is wanted from here on.
AddFile withoutBounds(AddFile file) {
  const auto records = numRecords(file);
  file.stats.reset();
  if (records) file.stats = "{\"numRecords\":" + std::to_string(*records) + "}";
  return file;
}

struct Cube {
  std::vector<AddFile> files;
  int64_t bytes = 0;
};

// One run over one snapshot.
class Optimization {
 public:
  Optimization(const std::shared_ptr<DeltaLog>& log, SnapshotPtr snapshot, const OptimizeRequest& request,
               const CancellationToken* cancellation)
      : log_(log), snapshot_(std::move(snapshot)), request_(request), cancellation_(cancellation) {}

  OptimizeReport run(int numTasks, const RunTasks& runTasks) {
    report_.startMs = log_->clock().nowMillis();
    if (sorts()) {
      const auto paths = request_.kind == Kind::Curve ? request_.columns : clusteringColumns(*snapshot_);
      columns_ = curveColumns(*snapshot_, paths, request_.kind == Kind::Curve && request_.checkStatistics);
      cubeColumns_ = cubeColumnsText(paths);
    }
    std::vector<std::vector<AddFile>> groups = chooseGroups();
    report_.numGroups = static_cast<int64_t>(groups.size());
    std::set<PartitionValues> partitions;
    for (const auto& group : groups) {
      partitions.insert(group.front().partitionValues);
      for (const AddFile& file : group) {
        if (file.deletionVector) report_.numVectorRowsRemoved += file.deletionVector->cardinality;
      }
    }
    report_.partitionsOptimized = static_cast<int64_t>(partitions.size());
    if (!groups.empty()) replace(std::move(groups), numTasks, runTasks);
    report_.endMs = log_->clock().nowMillis();
    return report_;
  }

 private:
  bool sorts() const { return request_.kind == Kind::Curve || request_.kind == Kind::Cluster; }

  static std::string cubeColumnsText(const std::vector<std::vector<std::string>>& paths) {
    std::string text = "[";
    for (const auto& path : paths) {
      std::string name;
      for (const std::string& part : path) name += (name.empty() ? "" : ".") + part;
      text += (text.size() > 1 ? "," : "") + jsonText(name);
    }
    return text + "]";
  }

  std::vector<std::vector<AddFile>> chooseGroups() {
    std::map<PartitionValues, std::vector<AddFile>> partitions;
    snapshot_->files().forEachLive([&](const FileRecord& record) {
      AddFile file = record.toAdd();
      if (request_.selects && !request_.selects(file)) return;
      ++report_.numConsidered;
      if (!isCandidate(file)) return;
      std::vector<AddFile>& files = partitions[file.partitionValues];
      files.push_back(withoutBounds(std::move(file)));
    });
    std::vector<std::vector<AddFile>> groups;
    for (auto& [values, files] : partitions) {
      if (request_.kind == Kind::Cluster)
        chooseUnclustered(std::move(files), &groups);
      else if (request_.kind == Kind::Curve)
        groups.push_back(counted(std::move(files)));
      else
        pack(std::move(files), &groups);
    }
    return groups;
  }

  bool isCandidate(const AddFile& file) const {
    if (sorts()) return true;
    if (request_.kind == Kind::Purge) return file.deletionVector.has_value();
    return file.size < request_.minFileBytes || hasManyDeleted(file, request_.maxDeletedShare);
  }

  // Whether a file is better written anew for its deleted rows' sake.
  bool isBetterAlone(const AddFile& file) const {
    return request_.kind == Kind::Purge || hasManyDeleted(file, request_.maxDeletedShare);
  }

  // Greedy bins, smaller files first; within a bin rows keep the order in which they came.
  void pack(std::vector<AddFile> files, std::vector<std::vector<AddFile>>* groups) const {
    std::vector<size_t> bySize(files.size());
    std::iota(bySize.begin(), bySize.end(), size_t{0});
    std::stable_sort(bySize.begin(), bySize.end(),
                     [&](size_t a, size_t b) { return files[a].size < files[b].size; });
    std::vector<size_t> bin;
    int64_t bytes = 0;
    const auto close = [&] {
      const bool improves = bin.size() > 1 || (bin.size() == 1 && isBetterAlone(files[bin[0]]));
      std::sort(bin.begin(), bin.end());
      if (improves) groups->emplace_back();
      for (const size_t i : bin) {
        if (improves) groups->back().push_back(std::move(files[i]));
      }
      bin.clear();
      bytes = 0;
    };
    for (const size_t i : bySize) {
      if (!bin.empty() && bytes + files[i].size > request_.maxFileBytes) close();
      bytes += files[i].size;
      bin.push_back(i);
    }
    close();
  }

  std::vector<AddFile> counted(std::vector<AddFile> files) {
    for (const AddFile& file : files) {
      ++report_.otherInput.num;
      report_.otherInput.bytes += file.size;
    }
    return files;
  }

  bool isClustered(const AddFile& file) const {
    const auto columns = file.tags.find(kCubeColumns);
    return file.clusteringProvider == kClusteringProvider && file.tags.contains(kCubeId) &&
           columns != file.tags.end() && columns->second == cubeColumns_;
  }

  // All files that are in no cube yet, and those of cubes that are not full, become one cube; one cube alone
  // is in order already. Files that were clustered by other columns stay as they are unless all is asked for.
  void chooseUnclustered(std::vector<AddFile> files, std::vector<std::vector<AddFile>>* groups) {
    std::map<std::string, Cube> cubes;
    std::vector<AddFile> group;
    bool isStale = false;
    for (AddFile& file : files) {
      const bool clustered = isClustered(file);
      const bool byOthers = !clustered && file.clusteringProvider == kClusteringProvider;
      if (clustered || (byOthers && request_.full)) {
        isStale = isStale || byOthers;
        Cube& cube = cubes[file.tags.contains(kCubeId) ? file.tags.at(kCubeId) : ""];
        cube.bytes += file.size;
        cube.files.push_back(std::move(file));
        continue;
      }
      ++report_.otherInput.num;
      report_.otherInput.bytes += file.size;
      if (!byOthers) group.push_back(std::move(file));
    }
    if (!request_.full)
      std::erase_if(cubes, [](const auto& cube) { return cube.second.bytes >= kFullCubeBytes; });
    report_.numInputCubes += static_cast<int64_t>(cubes.size());
    for (const auto& [id, cube] : cubes) {
      report_.cubeInput.num += static_cast<int64_t>(cube.files.size());
      report_.cubeInput.bytes += cube.bytes;
    }
    if (group.empty() && cubes.size() <= 1 && !isStale) return;
    for (auto& [id, cube] : cubes) std::move(cube.files.begin(), cube.files.end(), std::back_inserter(group));
    groups->push_back(std::move(group));
  }

  void replace(std::vector<std::vector<AddFile>> groups, int numTasks, const RunTasks& runTasks) {
    FileReplacement replacement(log_, snapshot_, cancellation_);
    if (sorts())
      sortGroups(std::move(groups), numTasks, runTasks, replacement);
    else
      replacement.merge(std::move(groups), runTasks);
    const auto done = replacement.commit(LostFiles::Conflict, [this](const ReplacementReport& report) {
      Operation operation = request_.operation;
      operation.metrics = replacementMetrics(report);
      return operation;
    });
    if (done) report_.files = *done;
  }

  void sortGroups(std::vector<std::vector<AddFile>> groups, int numTasks, const RunTasks& runTasks,
                  FileReplacement& replacement) {
    const int64_t atOnce = std::clamp<int64_t>(static_cast<int64_t>(groups.size()), 1, std::max(numTasks, 1));
    const CurveWriteOptions options{columns_, request_.maxFileBytes, kCurveMemoryBytes / atOnce,
                                    cancellation_};
    std::vector<std::vector<AddFile>> outputs(groups.size());
    const auto takeOver = [&] {
      for (size_t i = 0; i < groups.size(); ++i) {
        if (!outputs[i].empty() || !groups[i].empty()) replacement.replace(groups[i], std::move(outputs[i]));
      }
    };
    try {
      runTasks(static_cast<int>(groups.size()), [&](int task) {
        const auto i = static_cast<size_t>(task);
        outputs[i] = writeAlongCurve(*snapshot_, groups[i], options);
        if (request_.kind == Kind::Cluster) tag(&outputs[i]);
      });
    } catch (...) {
      takeOver();  // and with the replacement they go
      throw;
    }
    takeOver();
  }

  void tag(std::vector<AddFile>* files) const {
    const std::string cube = randomUuid();
    for (AddFile& file : *files) {
      file.clusteringProvider = std::string(kClusteringProvider);
      file.tags[kCubeId] = cube;
      file.tags[kCubeColumns] = cubeColumns_;
    }
  }

  std::shared_ptr<DeltaLog> log_;
  SnapshotPtr snapshot_;
  const OptimizeRequest& request_;
  const CancellationToken* cancellation_;
  std::vector<CurveColumn> columns_;
  std::string cubeColumns_;
  OptimizeReport report_;
};

}  // namespace

OptimizeReport optimizeTable(const std::shared_ptr<DeltaLog>& log, const SnapshotPtr& snapshot,
                             const OptimizeRequest& request, int numTasks, const RunTasks& runTasks,
                             const CancellationToken* cancellation) {
  checkWritable(snapshot->protocol(), snapshot->metadata(), log->table().uri());
  return Optimization(log, snapshot, request, cancellation).run(numTasks, runTasks);
}

int64_t numColumnsWithStatistics(const Snapshot& snapshot) {
  const auto numColumns = static_cast<int64_t>(snapshot.schema()->fields().size());
  const int64_t indexed = statisticsOptions(snapshot.metadata(), snapshot.protocol()).numIndexedColumns;
  return indexed < 0 ? numColumns : std::min(indexed, numColumns);
}

}  // namespace thalweg::delta
