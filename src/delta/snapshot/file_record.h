// One add or remove packed into bytes: the form in which a snapshot keeps its files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "delta/actions/actions.h"
#include "delta/actions/file_fields.h"

namespace thalweg::delta {

// What a reader of a record wants of a file's statistics. Those of large checkpoints are read when the first
// file is asked for its own (see CheckpointStatistics), and are lost where the checkpoint is gone by then.
enum class Statistics {
  Required,  // throws Error DELTA_STATE_RECOVER_ERROR where they are lost: for who writes what it reads
  IfKnown,   // absent where they are lost: for who only saves work by them
  LeftOut,   // absent, and not read
  InRecord,  // absent where they are in a checkpoint, of which laterStats tells the place
};

// A view of one packed record; valid as long as its arena, and the source of its statistics.
class FileRecord {
 public:
  explicit FileRecord(const char* bytes) : bytes_(bytes) {}

  bool isAdd() const;
  int64_t sizeBytes() const;  // the data file's size; 0 where a remove has none
  std::string_view logPath() const;
  std::string dvUniqueId() const;     // empty where there is no vector
  int64_t modificationTime() const;   // ms; of adds
  int64_t deletionTimestamp() const;  // ms; of removes, 0 where absent (it counts as expired)
  bool hasDeletionVector() const;

  // All of it, as views of the record and its statistics' source; `fields` is overwritten.
  void read(FileFields& fields, Statistics statistics = Statistics::Required) const;
  // Equal for files of one partition, and for no others; of adds.
  std::string_view partitionKey() const;
  // Where its statistics are if they are not in the record, else null.
  const CheckpointStatistics* laterStatistics() const;
  AddFile toAdd(Statistics statistics = Statistics::Required) const;  // isAdd() only
  RemoveFile toRemove() const;                                        // !isAdd() only
  std::string_view packed() const;

 private:
  const char* bytes_;
};

// Appends the packed form to `out`.
void packFile(const FileFields& fields, std::string& out);

}  // namespace thalweg::delta
