// The columns of the Parquet files of one table's checkpoints.
#pragma once

#include "delta/snapshot/snapshot.h"
#include "types/data_type.h"

namespace thalweg::delta {

// Which files of a checkpoint a schema is for.
enum class CheckpointContent {
  Whole,     // all actions: classic checkpoints
  TopLevel,  // of a V2 checkpoint: all but adds and removes, and the names of its sidecars
  Files,     // adds and removes alone: sidecars
};

// What a table's properties ask for in its checkpoints, and the types that follow from its columns.
struct CheckpointColumns {
  bool statsAsJson = true;      // delta.checkpoint.writeStatsAsJson
  DataTypePtr partitionValues;  // of partitionValues_parsed, physical names; null: there is none
  DataTypePtr stats;            // of stats_parsed; null: there is none

  DataTypePtr addType() const;
  static DataTypePtr removeType();
  // A struct per kind of action, as Spark names and orders them; of each row one is set.
  SchemaPtr schema(CheckpointContent content) const;
};

// partitionValues_parsed and stats_parsed are there unless delta.checkpoint.writeStatsAsStruct says false
// (Spark's default is true, where the protocol's is false).
CheckpointColumns checkpointColumns(const Snapshot& snapshot);

}  // namespace thalweg::delta
