// What whoever runs queries says of the checkpoints that their commits write.
#pragma once

#include <cstdint>
#include <optional>

namespace thalweg::delta {

struct CheckpointSettings {
  // spark.databricks.delta.checkpoint.partSize: adds and removes in one file at most. Absent: 50,000 in the
  // sidecars of a V2 checkpoint, and one file otherwise.
  std::optional<int64_t> partSize;
  // spark.databricks.delta.checkpointV2.topLevelFileFormat: parquet, where the default is json.
  bool parquetTopLevel = false;
};

}  // namespace thalweg::delta
