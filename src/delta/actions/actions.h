// The actions of the Delta protocol as values: what a line of a commit or a row of a checkpoint says.
// Field names are the protocol's; absent, JSON null and a missing Parquet column mean the same
// (std::nullopt).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "types/data_type.h"

namespace thalweg::delta {

// Partition column (physical name) → its text, or null. Text forms: the protocol's "partition value
// serialization".
using PartitionValues = std::map<std::string, std::optional<std::string>>;

struct DeletionVector {
  std::string storageType;  // "u" (relative file), "i" (inline), "p" (absolute path)
  std::string pathOrInlineDv;
  std::optional<int32_t> offset;
  int32_t sizeInBytes = 0;
  int64_t cardinality = 0;
  std::optional<int64_t> maxRowIndex;

  // Identifies the vector in (path, dv) keys: storageType ++ pathOrInlineDv [++ "@" ++ offset].
  std::string uniqueId() const;
  bool operator==(const DeletionVector&) const = default;
};

struct AddFile {
  std::string path;  // as in the log: URI-encoded, relative to the table or absolute
  PartitionValues partitionValues;
  int64_t size = 0;              // bytes
  int64_t modificationTime = 0;  // ms since the epoch
  bool dataChange = true;
  std::optional<std::string> stats;  // JSON text
  std::map<std::string, std::string> tags;
  std::optional<DeletionVector> deletionVector;
  std::optional<int64_t> baseRowId;
  std::optional<int64_t> defaultRowCommitVersion;
  std::optional<std::string> clusteringProvider;
};

struct RemoveFile {
  std::string path;
  std::optional<int64_t> deletionTimestamp;  // ms
  bool dataChange = true;
  std::optional<bool> extendedFileMetadata;
  std::optional<PartitionValues> partitionValues;
  std::optional<int64_t> size;
  std::optional<std::string> stats;
  std::map<std::string, std::string> tags;
  std::optional<DeletionVector> deletionVector;
  std::optional<int64_t> baseRowId;
  std::optional<int64_t> defaultRowCommitVersion;
};

struct AddCdcFile {
  std::string path;
  PartitionValues partitionValues;
  int64_t size = 0;
  std::map<std::string, std::string> tags;
};

struct Metadata {
  std::string id;  // a UUID
  std::optional<std::string> name;
  std::optional<std::string> description;
  std::string schemaString;
  std::vector<std::string> partitionColumns;
  std::optional<int64_t> createdTime;  // ms
  std::map<std::string, std::string> configuration;

  // The parsed schemaString. Throws Error where it does not parse. Cached by the snapshot, not here.
  SchemaPtr schema() const;
};

struct Protocol {
  int32_t minReaderVersion = 1;
  int32_t minWriterVersion = 2;
  std::optional<std::vector<std::string>> readerFeatures;
  std::optional<std::vector<std::string>> writerFeatures;
  bool operator==(const Protocol&) const = default;
};

struct SetTransaction {
  std::string appId;
  int64_t version = 0;
  std::optional<int64_t> lastUpdated;  // ms
};

struct DomainMetadata {
  std::string domain;
  std::string configuration;
  bool removed = false;
};

// Free JSON apart from what the engine itself uses; `json` is the whole object's text.
struct CommitInfo {
  std::string json;
};

using Action = std::variant<AddFile, RemoveFile, AddCdcFile, Metadata, Protocol, SetTransaction,
                            DomainMetadata, CommitInfo>;

}  // namespace thalweg::delta
