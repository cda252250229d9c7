// One entry of the log in which a stream over a Delta table keeps the schema that it reads by, in Delta's
// form.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "sources/delta/streamed_metadata.h"

namespace thalweg {

struct SchemaLogEntry {
  // `sourceFolder`: the source's folder in its checkpoint, as Spark names it ("file:/c/sources/0").
  static SchemaLogEntry of(int64_t commitVersion, const delta::Metadata& metadata,
                           const delta::Protocol& protocol, std::string sourceFolder);

  std::string tableId;
  int64_t commitVersion = 0;  // a version with whose rows the schema goes
  std::string dataSchemaJson;
  std::string partitionSchemaJson;
  std::string sourceFolder;
  // Old entries lack these: then they are the table's.
  std::optional<std::map<std::string, std::string>> configuration = {};
  std::optional<delta::Protocol> protocol = {};
  // The entry that this one follows, where that is not the one before it: it took that one's place. -1: none.
  std::optional<int64_t> previousEntry = {};

  // The file's text: "v1", then {"tableId":…,"deltaCommitVersion":…,"dataSchemaJson":…,…}; no newline at the
  // end.
  std::string toText() const;
  // `place` names the file in errors. Throws Error DELTA_STREAMING_SCHEMA_LOG_DESERIALIZE_FAILED,
  // DELTA_STREAMING_SCHEMA_LOG_PARSE_SCHEMA_FAILED, DELTA_STATE_RECOVER_ERROR (the protocol).
  static SchemaLogEntry parse(std::string_view text, const std::string& place);

  // The metadata of a reader of `table`, which gives what the entry does not say. Throws Error
  // DELTA_STREAMING_SCHEMA_LOG_PARSE_SCHEMA_FAILED.
  StreamedMetadata over(const StreamedMetadata& table) const;

  bool operator==(const SchemaLogEntry&) const = default;
};

// The partition columns with their types, as Delta has them in such entries.
std::string partitionSchemaJson(const delta::Metadata& metadata);

}  // namespace thalweg
