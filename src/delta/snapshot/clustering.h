// Liquid clustering: which columns a table is clustered by, as its metadata domain says it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "delta/actions/actions.h"
#include "delta/snapshot/snapshot.h"

namespace thalweg::delta {

inline constexpr std::string_view kClusteringDomain = "delta.clustering";

// The domain of a table with these clustering columns (paths of logical names, any case; none: the table is
// clustered by no column). Throws Error COLUMN_NOT_FOUND, and DELTA_CLUSTER_BY_INVALID_NUM_COLUMNS for more
// than four.
DomainMetadata clusteringDomain(const Metadata& metadata,
                                const std::vector<std::vector<std::string>>& columns);

// The columns' logical names, in their order; none where the table is not clustered.
std::vector<std::vector<std::string>> clusteringColumns(const Snapshot& snapshot);

}  // namespace thalweg::delta
