// The records inside change files and snapshots of both providers (numbers are big-endian).
//
//   plain   [key length][key][value length, or −1: removed][value] …, end: −1. The .delta and .snapshot
//           files of the HDFS-backed provider, and version 1 of .changelog files (of stores without column
//           families).
//   typed   version 2 of .changelog files: a Java UTF "v2", then records that begin with their type (0x01
//           put, 0x10 removal with −1 behind the key, 0x11 merge, 0x20 removal of a range), end: 0x00.
// Versions 3 and 4 are as 1 and 2, behind a "v3" or "v4" and a Java UTF with the lineage of checkpoint ids as
// JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "state/state_compression.h"
#include "state/state_files.h"

namespace thalweg {

// Appends records to a compressed stream in memory. Used by one thread.
class ChangeRecordWriter {
 public:
  explicit ChangeRecordWriter(StateCodec codec) : out_(codec) {}
  // A record's key or value in two parts, so that a prefix costs no copy.
  void put(std::string_view keyPrefix, std::string_view key, std::string_view valuePrefix,
           std::string_view value);
  void remove(std::string_view keyPrefix, std::string_view key);
  std::string finish();

 private:
  void appendInt(int32_t number);
  StateCompressor out_;
};

// What a parser found wrong with a length, for the conditions that Spark has for it.
enum class RecordFault { KeySize, ValueSize, Other };

// Reads a whole file of plain records. `record` gets each in order; views hold during the call. Bytes are
// foreign: throws Error STATE_STORE_CHECKPOINT_CORRUPT with a reason and no file name; *fault, when given,
// says which length was bad.
void readPlainRecords(StateDecompressor& input, const std::function<void(const StateChange&)>& record,
                      RecordFault* fault = nullptr);

// Reads a .changelog file of any version. Throws as readPlainRecords; Error UNSUPPORTED_FEATURE for merges
// and removals of ranges (stores with column families), Error
// CANNOT_LOAD_STATE_STORE.INVALID_CHANGE_LOG_READER_VERSION for newer versions.
void readChangelog(StateDecompressor& input, const std::function<void(const StateChange&)>& record);

}  // namespace thalweg
