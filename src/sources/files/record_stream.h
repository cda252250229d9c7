// A file of records as a stream of bytes, unpacked by its name's ending.
#pragma once

#include <memory>

#include <arrow/io/type_fwd.h>

#include "storage/file_system.h"

namespace thalweg {

// Used by one thread.
struct RecordStream {
  std::shared_ptr<arrow::io::InputStream> stored;   // as it lies in the store
  std::shared_ptr<arrow::io::InputStream> content;  // what it holds; the same where it is not compressed
};

// By Hadoop's codecs: .gz, .zst, .bz2. Throws Error PATH_NOT_FOUND, unsupported() for its other ones.
RecordStream openRecordStream(const Location& file);

}  // namespace thalweg
