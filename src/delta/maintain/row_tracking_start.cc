#include "delta/maintain/row_tracking_start.h"

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/json_text.h"
#include "delta/commit/transaction.h"
#include "delta/scan/value_bounds.h"
#include "delta/snapshot/protocol_choice.h"
#include "delta/snapshot/table_features.h"

namespace thalweg::delta {
namespace {

constexpr std::string_view kFeature = "rowTracking";
constexpr size_t kFilesPerCommit = 22'000;

std::string protocolText(const Protocol& protocol) {
  nlohmann::ordered_json json = {{"minReaderVersion", protocol.minReaderVersion},
                                 {"minWriterVersion", protocol.minWriterVersion}};
  json["readerFeatures"] = nullptr;
  json["writerFeatures"] = nullptr;
  if (protocol.readerFeatures) json["readerFeatures"] = *protocol.readerFeatures;
  if (protocol.writerFeatures) json["writerFeatures"] = *protocol.writerFeatures;
  return toJsonText(json);
}

void addFeature(const std::shared_ptr<DeltaLog>& log, const SnapshotPtr& snapshot) {
  const Protocol protocol = upgradedProtocol(snapshot->protocol(), snapshot->metadata(), log->table().uri(),
                                             {std::string(kFeature), "domainMetadata"});
  Transaction transaction(log, snapshot);
  transaction.setProtocol(protocol);
  Operation operation;
  operation.name = "UPGRADE PROTOCOL";
  operation.parameters = {{"newProtocol", jsonText(protocolText(protocol))}};
  transaction.setOperation(std::move(operation));
  requireCommitted(transaction.commit());
}

// The transaction gives an id to every file that it adds without one.
void addAgain(Transaction& transaction, AddFile file) {
  if (!StatisticsView(file.stats.value_or("")).numRecords()) {
    throw Error("DELTA_ROW_ID_ASSIGNMENT_WITHOUT_STATS",
                "The rows of " + file.path +
                    " cannot get ids: the file's statistics do not say how many there are. Write the file "
                    "anew (OPTIMIZE), then switch row tracking on.",
                {});
  }
  transaction.readFile(file);
  file.dataChange = false;
  transaction.add(std::move(file));
}

// Thrown through a commit that has nothing to do.
struct AllHaveIds {};

// One commit's worth of files, as the newest version has them. False: there are none.
bool giveIdsToSome(const std::shared_ptr<DeltaLog>& log, int64_t batchId) {
  Transaction transaction(log, log->require());
  transaction.planFiles([batchId](Transaction& planned) {
    size_t count = 0;
    planned.readSnapshot()->files().forEachLive([&](const FileRecord& record) {
      if (count == kFilesPerCommit) return;
      AddFile file = record.toAdd();
      if (file.baseRowId) return;
      addAgain(planned, std::move(file));
      ++count;
    });
    if (count == 0) throw AllHaveIds();
    Operation operation;
    operation.name = "ROW TRACKING BACKFILL";
    operation.parameters = {{"batchId", jsonText(std::to_string(batchId))}};
    planned.setOperation(std::move(operation));
  });
  try {
    requireCommitted(transaction.commit());
  } catch (const AllHaveIds&) {
    return false;
  }
  return true;
}

}  // namespace

SnapshotPtr giveRowIds(const std::shared_ptr<DeltaLog>& log) {
  const SnapshotPtr snapshot = log->require();
  checkWritable(snapshot->protocol(), snapshot->metadata(), log->table().uri());
  if (!supportsFeature(snapshot->protocol(), kFeature)) addFeature(log, snapshot);
  for (int64_t batchId = 0; giveIdsToSome(log, batchId); ++batchId) {
  }
  return log->require();
}

}  // namespace thalweg::delta
