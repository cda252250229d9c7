// What a file format brings to the file sink: how rows become the bytes of one file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <arrow/type_fwd.h>

#include "connector/registry.h"
#include "storage/file_system.h"
#include "types/data_type.h"

namespace thalweg {

// One file being written; one thread. Dropped without close() it leaves no promise of what is in the store.
class RecordOutput {
 public:
  virtual ~RecordOutput() = default;
  // The columns that the format was made for.
  virtual void write(const arrow::RecordBatch& rows) = 0;
  virtual int64_t bufferedBytes() const = 0;
  // Durable on return. The file's size in bytes.
  virtual int64_t close() = 0;
};

// A format with its options, for one set of columns; immutable, any thread.
class RecordOutputFormat {
 public:
  virtual ~RecordOutputFormat() = default;
  virtual std::string extension() const = 0;  // ".snappy.parquet"
  virtual std::unique_ptr<RecordOutput> open(const Location& file) const = 0;
};

// A file format as the doors of file_sink.h know it.
struct FileOutputDefinition {
  std::string name;
  // Checks the format's own options and the columns that files will have (those that are no partition
  // columns); throws as a write does.
  std::function<std::shared_ptr<const RecordOutputFormat>(const WriteDefinition&,
                                                          const SchemaPtr& dataSchema)>
      make;
};

}  // namespace thalweg
