// What a stream over a Delta table reads by.
#pragma once

#include <cstdint>

#include "delta/snapshot/snapshot.h"

namespace thalweg {

// The table's own when the stream was opened, or what its schema log says. A value.
struct StreamedMetadata {
  static StreamedMetadata of(const delta::Snapshot& snapshot) {
    return {snapshot.version(), snapshot.metadata(), snapshot.protocol(), snapshot.schema()};
  }

  int64_t version = 0;  // up to which it holds what the table's commits say
  delta::Metadata metadata;
  delta::Protocol protocol;
  SchemaPtr schema;  // metadata's, parsed
};

}  // namespace thalweg
