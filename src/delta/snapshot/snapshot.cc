#include "delta/snapshot/snapshot.h"

#include "common/error.h"
#include "delta/actions/action_reader.h"
#include "delta/snapshot/table_features.h"
#include "delta/snapshot/type_widening.h"

namespace thalweg::delta {

std::vector<AddFile> Snapshot::liveFiles(Statistics statistics) const {
  std::vector<AddFile> live;
  live.reserve(static_cast<size_t>(numFiles()));
  files().forEachLive([&](const FileRecord& record) { live.push_back(record.toAdd(statistics)); });
  return live;
}

std::optional<int64_t> Snapshot::transactionVersion(std::string_view appId) const {
  const auto it = state_.transactions->find(std::string(appId));
  if (it == state_.transactions->end()) return std::nullopt;
  return it->second.version;
}

SnapshotBuilder::SnapshotBuilder(Location table) : files_(FileSet(table.path)) {
  state_.table = std::move(table);
  transactions_ = std::make_shared<Snapshot::Transactions>();
  domains_ = std::make_shared<Snapshot::Domains>();
}

SnapshotBuilder::SnapshotBuilder(const Snapshot& base)
    : state_(base.state()),
      files_(base.files()),
      hasProtocol_(true),
      hasMetadata_(true),
      risingTimeMs_(base.timestampMs()) {}

SnapshotBuilder::~SnapshotBuilder() = default;

Snapshot::Transactions& SnapshotBuilder::transactions() {
  if (!transactions_) transactions_ = std::make_shared<Snapshot::Transactions>(*state_.transactions);
  return *transactions_;
}

Snapshot::Domains& SnapshotBuilder::domains() {
  if (!domains_) domains_ = std::make_shared<Snapshot::Domains>(*state_.domains);
  return *domains_;
}

void SnapshotBuilder::apply(const Action& action) {
  if (const auto* add = std::get_if<AddFile>(&action)) {
    files_.add(*add);
  } else if (const auto* remove = std::get_if<RemoveFile>(&action)) {
    files_.remove(*remove);
  } else if (const auto* metadata = std::get_if<Metadata>(&action)) {
    state_.metadata = *metadata;
    hasMetadata_ = true;
    metadataChanged_ = true;
  } else if (const auto* protocol = std::get_if<Protocol>(&action)) {
    state_.protocol = *protocol;
    hasProtocol_ = true;
  } else if (const auto* transaction = std::get_if<SetTransaction>(&action)) {
    transactions().insert_or_assign(transaction->appId, *transaction);
  } else if (const auto* domain = std::get_if<DomainMetadata>(&action)) {
    if (domain->removed) {
      domains().erase(domain->domain);
    } else {
      domains().insert_or_assign(domain->domain, *domain);
    }
  } else if (const auto* info = std::get_if<CommitInfo>(&action)) {
    const CommitInfoFields fields = readCommitInfoFields(*info);
    state_.inCommitTimestampMs = fields.inCommitTimestamp;
    state_.txnId = fields.txnId;
  }
}

void SnapshotBuilder::endVersion(int64_t version, std::optional<CommitStamp> stamp) {
  state_.version = version;
  state_.stamp = stamp;
  if (!stamp) return;
  const int64_t modifiedMs = stamp->modificationTimeMs;
  risingTimeMs_ = risingTimeMs_ ? std::max(modifiedMs, *risingTimeMs_ + 1) : modifiedMs;
}

void SnapshotBuilder::setCheckpointVersion(int64_t version) {
  state_.checkpointVersion = version;
}

namespace {

// Writers and readers of partitions rely on it.
void requirePartitionColumns(const Metadata& metadata, const Schema& schema, const std::string& table) {
  for (const std::string& column : metadata.partitionColumns) {
    if (schema.fieldIndex(column, /*caseSensitive=*/false) >= 0) continue;
    throw Error("DELTA_STATE_RECOVER_ERROR",
                "The log of the Delta table " + table + " names the partition column '" + column +
                    "', which its schema does not have. The log is damaged or written by a faulty writer.",
                {{"operation", "partition columns"}, {"column", column}});
  }
}

}  // namespace

void SnapshotBuilder::requireProtocolAndMetadata(int64_t version) const {
  if (hasProtocol_ && hasMetadata_) return;
  const std::string missing = hasProtocol_ ? "metaData" : "protocol";
  throw Error("DELTA_STATE_RECOVER_ERROR",
              "Version " + std::to_string(version) + " of the Delta table " + state_.table.path +
                  " has no action " + missing + " in its log. Restore the log's files from a backup.",
              {{"operation", missing}, {"version", std::to_string(version)}});
}

SnapshotPtr SnapshotBuilder::finish(int64_t nowMs) && {
  requireProtocolAndMetadata(state_.version);
  checkReadable(state_.protocol, state_.table.path);
  if (metadataChanged_ || !state_.schema) {
    state_.schema = state_.metadata.schema();
    requirePartitionColumns(state_.metadata, *state_.schema, state_.table.path);
    if (supportsFeature(state_.protocol, "typeWidening") ||
        supportsFeature(state_.protocol, "typeWidening-preview"))
      checkTypeChanges(*state_.schema, state_.table.path);
  }
  if (transactions_) state_.transactions = std::move(transactions_);
  if (domains_) state_.domains = std::move(domains_);
  const int64_t cutoffMs = nowMs - deletedFileRetentionMs(state_.metadata);
  state_.files = std::move(files_).finish(cutoffMs);
  const bool inCommit = tableFlag(state_.metadata, kEnableInCommitTimestamps) && state_.inCommitTimestampMs;
  if (inCommit) {
    state_.timestampMs = *state_.inCommitTimestampMs;
  } else if (risingTimeMs_) {
    state_.timestampMs = *risingTimeMs_;
  }
  return std::make_shared<const Snapshot>(std::move(state_));
}

}  // namespace thalweg::delta
