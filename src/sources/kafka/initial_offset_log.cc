#include "sources/kafka/initial_offset_log.h"

#include "common/error.h"
#include "common/fault_points.h"
#include "sources/kafka/partition_offsets.h"
#include "storage/resolved_put.h"

namespace thalweg {
namespace {

constexpr std::string_view kHeader = "v1\n";

PartitionOffsets parse(std::string_view contents, const std::string& path) {
  // Spark 2.1 could not read a file without the zero byte; later versions write it for that one's sake.
  if (contents.starts_with('\0')) contents.remove_prefix(1);
  if (contents.starts_with(kHeader)) {
    contents.remove_prefix(kHeader.size());
  } else if (!contents.starts_with('{')) {
    throw Error(ErrorKind::Spark, "INVALID_OPTION",
                "The file '" + path + "' of the checkpoint does not hold the initial offsets of a Kafka source, version 1.");
  }
  const std::string what = "The file '" + path + "' of the checkpoint";
  PartitionOffsets offsets = parsePartitionOffsets(contents, what);
  requireResolved(offsets, what);
  return offsets;
}

}  // namespace

std::optional<PartitionOffsets> readInitialOffsets(const Location& metadataFolder) {
  const Location file = metadataFolder.child("0");
  if (!file.fileSystem->stat(file.path)) return std::nullopt;
  return parse(file.fileSystem->readAll(file.path), file.path);
}

PartitionOffsets keepInitialOffsets(const Location& metadataFolder, const PartitionOffsets& offsets) {
  const Location file = metadataFolder.child("0");
  const std::string contents = std::string(1, '\0') + std::string(kHeader) + formatPartitionOffsets(offsets);
  passFaultPoint(FaultPoint::SourceLogBefore);
  const PutOutcome outcome = putIfAbsentResolved(*file.fileSystem, file.path, contents);
  passFaultPoint(FaultPoint::SourceLogAfter);
  return outcome == PutOutcome::Done ? offsets : parse(file.fileSystem->readAll(file.path), file.path);
}

}  // namespace thalweg
