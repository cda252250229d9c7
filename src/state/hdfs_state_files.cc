#include "state/hdfs_state_files.h"

#include "common/error.h"
#include "state/change_records.h"

namespace thalweg {
namespace {

// Spark before 2.3 wrote four bytes too many behind a value; a row's size is a multiple of 8.
StateChange trimmed(StateChange change) {
  change.value = change.value.substr(0, change.value.size() / 8 * 8);
  return change;
}

// Spark's condition for what was found in a file of this kind ("DELTA", "SNAPSHOT").
std::string conditionOf(RecordFault fault, bool snapshot) {
  if (fault == RecordFault::KeySize) {
    return snapshot ? "CANNOT_LOAD_STATE_STORE.CANNOT_READ_SNAPSHOT_FILE_KEY_SIZE"
                    : "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_KEY_SIZE";
  }
  if (fault == RecordFault::ValueSize && snapshot)
    return "CANNOT_LOAD_STATE_STORE.CANNOT_READ_SNAPSHOT_FILE_VALUE_SIZE";
  return "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED";
}

}  // namespace

HdfsStateFiles::HdfsStateFiles(std::shared_ptr<FileSystem> fileSystem, StateStoreId id, StateFormat format)
    : VersionedStateFiles(std::move(fileSystem), std::move(id), std::move(format), {"delta", "snapshot"}) {}

void HdfsStateFiles::readChanges(const std::string& path, StateReceiver& receiver) {
  RecordFault fault = RecordFault::Other;
  try {
    readPlainRecords(
        *openCompressed(path), [&](const StateChange& change) { receiver.apply(trimmed(change)); }, &fault);
  } catch (const Error& error) {
    throwForFile(error, conditionOf(fault, false), path);
  }
}

void HdfsStateFiles::readSnapshot(const std::string& path, StateReceiver& receiver) {
  RecordFault fault = RecordFault::Other;
  try {
    const auto apply = [&](const StateChange& change) {
      if (change.kind == StateChange::Kind::Remove) {
        fault = RecordFault::ValueSize;
        throw Error("STATE_STORE_CHECKPOINT_CORRUPT", "a value cannot have -1 bytes");
      }
      receiver.apply(trimmed(change));
    };
    readPlainRecords(*openCompressed(path), apply, &fault);
  } catch (const Error& error) {
    throwForFile(error, conditionOf(fault, true), path);
  }
}

Error HdfsStateFiles::missingChanges(const std::string& path) const {
  return unusableStateFile("CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS", path,
                           "it does not exist");
}

std::string HdfsStateFiles::encodeChanges(const std::vector<StateChange>& changes) {
  ChangeRecordWriter writer(codec());
  for (const StateChange& change : changes) {
    if (change.kind == StateChange::Kind::Put)
      writer.put({}, change.key, {}, change.value);
    else
      writer.remove({}, change.key);
  }
  return writer.finish();
}

std::string HdfsStateFiles::prepareSnapshot(const StateEntries& entries) {
  ChangeRecordWriter writer(codec());
  entries([&](std::string_view key, std::string_view value) { writer.put({}, key, {}, value); });
  return writer.finish();
}

}  // namespace thalweg
