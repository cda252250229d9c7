// Where a Kafka query started, in its checkpoint: sources/<i>/0, in Spark's form (a zero byte, "v1", a line of offsets).
#pragma once

#include <optional>

#include "kafka/topic_partition.h"
#include "storage/file_system.h"

namespace thalweg {

// The offsets kept in the source's folder; empty before a first start. Text that is not Spark's throws Error
// that names the file.
std::optional<PartitionOffsets> readInitialOffsets(const Location& metadataFolder);

// Keeps them, durable on return. Where another start was first, its offsets are returned instead.
PartitionOffsets keepInitialOffsets(const Location& metadataFolder, const PartitionOffsets& offsets);

}  // namespace thalweg
