// One add or remove packed into bytes: the form in which a snapshot keeps its files.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <variant>

#include "delta/actions/actions.h"
#include "delta/actions/file_fields.h"

namespace thalweg::delta {

// Bytes with stable addresses; grows in chunks of 1 MiB, so that a large table never copies its records to
// grow.
class RecordArena {
 public:
  const char* store(std::string_view bytes);
  size_t sizeBytes() const { return sizeBytes_; }

 private:
  std::deque<std::string> chunks_;
  size_t sizeBytes_ = 0;
};

// A view of one packed record; valid as long as its arena.
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

  // All of it, as views of the record; `fields` is overwritten.
  void read(FileFields& fields) const;
  // Equal for files of one partition, and for no others; of adds.
  std::string_view partitionKey() const;
  AddFile toAdd() const;        // isAdd() only
  RemoveFile toRemove() const;  // !isAdd() only
  std::string_view packed() const;

 private:
  const char* bytes_;
};

// Appends the packed form to `out`.
void packFile(const FileFields& fields, std::string& out);

}  // namespace thalweg::delta
