#include "sources/state/state_read_options.h"

#include "common/error.h"
#include "sources/state/committed_batches.h"
#include "state/state_store_id.h"

namespace thalweg {
namespace {

constexpr const char* kBatchId = "batchId";
constexpr const char* kOperatorId = "operatorId";
constexpr const char* kStoreName = "storeName";
constexpr const char* kJoinSide = "joinSide";
constexpr const char* kReadChangeFeed = "readChangeFeed";
constexpr const char* kChangeStart = "changeStartBatchId";
constexpr const char* kChangeEnd = "changeEndBatchId";
constexpr const char* kSnapshotStart = "snapshotStartBatchId";
constexpr const char* kSnapshotPartition = "snapshotPartitionId";

// Of operators that are not built.
constexpr const char* kNotBuilt[] = {"stateVarName", "readRegisteredTimers", "flattenCollectionTypes"};

[[noreturn]] void throwInvalid(const char* name, const std::string& message) {
  throw Error("STDS_INVALID_OPTION_VALUE.WITH_MESSAGE", std::string("The option '") + name + "': " + message,
              {{"optionName", name}, {"message", message}});
}

[[noreturn]] void throwConflict(const char* one, const char* other) {
  throw Error("STDS_CONFLICT_OPTIONS",
              std::string("The options '") + one + "' and '" + other + "' do not go together: leave one out.",
              {{"options", std::string("['") + one + "', '" + other + "']"}});
}

[[noreturn]] void throwUnspecified(const char* name, const char* other) {
  throw Error("STDS_REQUIRED_OPTION_UNSPECIFIED",
              std::string("The option '") + name + "' is missing, which '" + other + "' needs.",
              {{"optionName", name}});
}

std::optional<int64_t> nonNegative(const Options& options, const char* name) {
  const std::optional<int64_t> value = options.getLong(name);
  if (!value || *value >= 0) return value;
  throw Error("STDS_INVALID_OPTION_VALUE.IS_NEGATIVE", std::string("The option '") + name + "' is negative.",
              {{"optionName", name}});
}

// The batch, which must be among the committed ones.
int64_t committed(int64_t batchId, const CommittedBatches& batches, const Location& checkpoint) {
  if (batchId <= batches.last) return batchId;
  throw Error("STDS_COMMITTED_BATCH_UNAVAILABLE",
              "Batch " + std::to_string(batchId) + " of the checkpoint in " + checkpoint.uri() +
                  " is not committed; the last that is, is " + std::to_string(batches.last) + ".",
              {{"checkpointLocation", checkpoint.uri()}});
}

void readStore(const Options& options, StateReadOptions* read) {
  read->operatorId = nonNegative(options, kOperatorId).value_or(0);
  read->storeName = options.getOr(kStoreName, kDefaultStateStore);
  if (read->storeName.empty()) {
    throw Error("STDS_INVALID_OPTION_VALUE.IS_EMPTY", "The option 'storeName' is empty.",
                {{"optionName", kStoreName}});
  }
  const std::string side = options.getOr(kJoinSide, "none");
  if (side == "none") return;
  if (side != "left" && side != "right") throwInvalid(kJoinSide, "Valid values are left,right,none");
  if (read->storeName != kDefaultStateStore) throwConflict(kJoinSide, kStoreName);
  read->joinSide = side;
}

void readChangedBatches(const Options& options, const Location& checkpoint, StateReadOptions* read) {
  if (!read->joinSide.empty()) throwConflict(kJoinSide, kReadChangeFeed);
  for (const char* other : {kBatchId, kSnapshotStart, kSnapshotPartition}) {
    if (options.has(other)) throwConflict(other, kReadChangeFeed);
  }
  const std::optional<int64_t> first = nonNegative(options, kChangeStart);
  if (!first) throwUnspecified(kChangeStart, kReadChangeFeed);
  const CommittedBatches batches = committedBatches(checkpoint);
  const int64_t last = options.getLong(kChangeEnd).value_or(batches.last);
  if (last < *first) {
    throwInvalid(kChangeEnd, "It is " + std::to_string(last) +
                                 " (the last committed batch unless given), and so before " + kChangeStart +
                                 ", " + std::to_string(*first) + ".");
  }
  read->firstChangedBatch = first;
  read->batchId = committed(last, batches, checkpoint);
}

void readSnapshot(const Options& options, StateReadOptions* read) {
  const std::optional<int64_t> batch = nonNegative(options, kSnapshotStart);
  if (batch && *batch > read->batchId) {
    throwInvalid(kSnapshotStart, "It is after the batch that is read: at most " +
                                     std::to_string(read->batchId) + " is possible.");
  }
  const std::optional<int64_t> partition = nonNegative(options, kSnapshotPartition);
  if (batch.has_value() != partition.has_value()) {
    if (batch) throwUnspecified(kSnapshotPartition, kSnapshotStart);
    throwUnspecified(kSnapshotStart, kSnapshotPartition);
  }
  if (batch) read->snapshot = StateReadOptions::Snapshot{*batch, *partition};
}

}  // namespace

StateReadOptions readStateOptions(const Options& options, const Location& checkpoint) {
  for (const char* option : kNotBuilt) {
    if (options.has(option))
      throw unsupported(std::string("The option '") + option + "' of the state reader");
  }
  StateReadOptions read;
  readStore(options, &read);
  if (options.getBool(kReadChangeFeed, false)) {
    readChangedBatches(options, checkpoint, &read);
    return read;
  }
  for (const char* option : {kChangeStart, kChangeEnd}) {
    if (options.has(option))
      throwInvalid(option, std::string("It counts only where ") + kReadChangeFeed + " is true.");
  }
  const std::optional<int64_t> batch = nonNegative(options, kBatchId);
  const CommittedBatches batches = committedBatches(checkpoint);
  read.batchId = committed(batch.value_or(batches.last), batches, checkpoint);
  readSnapshot(options, &read);
  return read;
}

}  // namespace thalweg
