// What clusterBy() of a client's writers says, batch and streaming.
#pragma once

#include <string>
#include <vector>

#include <google/protobuf/repeated_ptr_field.h>

namespace thalweg {

// Names of columns, and of fields in them, to cluster by. Throws Error
// SPECIFY_CLUSTER_BY_WITH_PARTITIONED_BY_IS_NOT_ALLOWED where the writer partitions too; as in Spark whatever
// its format, and before anything is looked at.
std::vector<std::vector<std::string>> clusteringOf(
    const google::protobuf::RepeatedPtrField<std::string>& columns, int numPartitionColumns);

}  // namespace thalweg
