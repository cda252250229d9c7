// Named places where a test can make a write fail or the process die. One list; each point is fired by a test.
#pragma once

#include <string_view>

namespace thalweg {

// Every step of a micro-batch, and of statements on names, that changes something durable; `before` and `after` are points of their own.
#define THALWEG_FAULT_POINTS(X) \
  X(OffsetLogBefore, "offsetLog.before") \
  X(OffsetLogTemp, "offsetLog.temp") \
  X(OffsetLogAfter, "offsetLog.after") \
  X(SourceLogBefore, "sourceLog.before") \
  X(SourceLogAfter, "sourceLog.after") \
  X(SinkLogBefore, "sinkLog.before") \
  X(SinkLogAfter, "sinkLog.after") \
  X(FileMoveBefore, "fileMove.before") \
  X(FileMoveAfter, "fileMove.after") \
  X(DataFileBefore, "dataFile.before") \
  X(DataFileDuring, "dataFile.during") \
  X(DataFileAfter, "dataFile.after") \
  X(DeletionVectorBefore, "deletionVector.before") \
  X(DeletionVectorAfter, "deletionVector.after") \
  X(DeltaCommitBefore, "deltaCommit.before") \
  X(DeltaCommitTemp, "deltaCommit.temp") \
  X(DeltaCommitAfter, "deltaCommit.after") \
  X(DeltaChecksumBefore, "deltaChecksum.before") \
  X(DeltaCheckpointBefore, "deltaCheckpoint.before") \
  X(DeltaCheckpointAfter, "deltaCheckpoint.after") \
  X(LastCheckpointBefore, "lastCheckpoint.before") \
  X(StateChangesBefore, "stateChanges.before") \
  X(StateChangesAfter, "stateChanges.after") \
  X(StateSnapshotBefore, "stateSnapshot.before") \
  X(StateSnapshotAfter, "stateSnapshot.after") \
  X(CommitLogBefore, "commitLog.before") \
  X(CommitLogTemp, "commitLog.temp") \
  X(CommitLogAfter, "commitLog.after") \
  X(PurgeBefore, "purge.before") \
  X(CatalogDropAfter, "catalogDrop.after")

enum class FaultPoint {
#define THALWEG_FAULT_ENUM(id, name) id,
  THALWEG_FAULT_POINTS(THALWEG_FAULT_ENUM)
#undef THALWEG_FAULT_ENUM
};

std::string_view faultPointName(FaultPoint point);

// Passes a fault point: one relaxed atomic load unless armed. Armed by the environment variable
// THALWEG_FAULT="name[:k]=exit|error" at start-up (the k-th pass, from 1, acts): exit ends the process at once with
// status 137 as a kill -9 would, error throws Error FAULT_INJECTED.
void passFaultPoint(FaultPoint point);

// For tests in process: arms as the environment variable does; an empty text disarms.
void armFaultPoint(std::string_view specification);

}  // namespace thalweg
