#include "session/clustering_columns.h"

#include "common/error.h"
#include "plan/analyze/attribute_name.h"

namespace thalweg {

std::vector<std::vector<std::string>> clusteringOf(
    const google::protobuf::RepeatedPtrField<std::string>& columns, int numPartitionColumns) {
  std::vector<std::vector<std::string>> paths;
  for (const std::string& column : columns) paths.push_back(parseAttributeName(column));
  if (!paths.empty() && numPartitionColumns > 0) {
    throw Error("SPECIFY_CLUSTER_BY_WITH_PARTITIONED_BY_IS_NOT_ALLOWED",
                "A table is partitioned or clustered, not both: leave partitionBy() or clusterBy() out.");
  }
  return paths;
}

}  // namespace thalweg
