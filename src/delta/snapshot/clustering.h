// Liquid clustering: which columns a table is clustered by, as its metadata domain says it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "delta/actions/actions.h"
#include "delta/snapshot/snapshot.h"

namespace thalweg::delta {

inline constexpr std::string_view kClusteringDomain = "delta.clustering";

// The domain of a table with these clustering columns (paths of logical names, any case; none: the table is
// clustered by no column). Throws Error COLUMN_NOT_FOUND, DELTA_CLUSTER_BY_INVALID_NUM_COLUMNS for more than
// four, DELTA_DUPLICATE_COLUMNS_FOUND.CLUSTER_BY, and DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED for
// types that files are not skipped by.
DomainMetadata clusteringDomain(const Metadata& metadata,
                                const std::vector<std::vector<std::string>>& columns);

// The snapshot's domain for a table that becomes `after`, whose columns may have other physical names;
// nullopt where the table is not clustered, or not as it was: one of the columns is gone, or the table is
// partitioned.
std::optional<DomainMetadata> clusteringUnder(const Snapshot& snapshot, const Metadata& after);

// The columns' logical names, in their order; none where the table is not clustered. Columns that the table
// has no more are left out.
std::vector<std::vector<std::string>> clusteringColumns(const Snapshot& snapshot);

}  // namespace thalweg::delta
