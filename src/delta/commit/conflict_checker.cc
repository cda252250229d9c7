#include "delta/commit/conflict_checker.h"

#include <algorithm>
#include <string_view>

#include "delta/actions/action_reader.h"
#include "delta/files/row_rules.h"
#include "delta/log/file_paths.h"
#include "delta/snapshot/table_features.h"
#include "types/column_metadata.h"
#include "types/schema_json.h"

namespace thalweg::delta {
namespace {

template <typename Value>
const Value* findAction(const std::vector<Action>& actions) {
  for (const Action& action : actions) {
    if (const auto* value = std::get_if<Value>(&action)) return value;
  }
  return nullptr;
}

// Properties that another writer may switch on under us: nothing that we write depends on them.
constexpr std::string_view kHarmlessProperties[] = {"delta.enableDeletionVectors", "delta.checkpointPolicy",
                                                    "delta.checkpointInterval"};

bool isHarmless(std::string_view property) {
  return std::find(std::begin(kHarmlessProperties), std::end(kHarmlessProperties), property) !=
         std::end(kHarmlessProperties);
}

// The schema without what identity columns have given out so far: only who gives out values himself cares.
std::string withoutHighWaterMarks(const Metadata& metadata) {
  std::vector<StructField> fields = metadata.schema()->fields();
  for (StructField& field : fields)
    field.metadata = withoutMetadataKey(field.metadata, kIdentityHighWaterMark);
  return toSchemaJson(*DataType::structOf(std::move(fields)));
}

bool differsHarmlessly(const Metadata& before, const Metadata& after) {
  const bool sameSchema = before.schemaString == after.schemaString ||
                          withoutHighWaterMarks(before) == withoutHighWaterMarks(after);
  if (before.id != after.id || !sameSchema || before.partitionColumns != after.partitionColumns) {
    return false;
  }
  const auto agrees = [](const Metadata& left, const Metadata& right) {
    return std::all_of(left.configuration.begin(), left.configuration.end(), [&](const auto& entry) {
      const auto other = right.configuration.find(entry.first);
      return isHarmless(entry.first) || (other != right.configuration.end() && other->second == entry.second);
    });
  };
  return agrees(before, after) && agrees(after, before);
}

bool dropsFeature(const Protocol& before, const Protocol& after) {
  const auto names = writerFeatures(before);
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return !supportsFeature(after, name); });
}

class Checker {
 public:
  Checker(const PendingCommit& own, const std::vector<Action>& winner, int64_t winnerVersion,
          const Snapshot* before)
      : own_(own), winner_(winner), version_(winnerVersion), before_(before) {}

  std::optional<Error> check() const {
    for (const auto rule : {&Checker::protocol, &Checker::metadata, &Checker::domains, &Checker::transactions,
                            &Checker::appends, &Checker::deletesOfRead, &Checker::deletesOfDeleted}) {
      if (auto error = (this->*rule)()) return error;
    }
    return std::nullopt;
  }

 private:
  Error conflict(std::string condition, const std::string& what, const std::string& advice) const {
    return Error(std::move(condition),
                 "Another writer committed version " + std::to_string(version_) +
                     " of the Delta table first, and " + what + ". " + advice,
                 {{"version", std::to_string(version_)}});
  }

  std::string tablePath() const {
    if (before_) return before_->table().path;
    return own_.readSnapshot ? own_.readSnapshot->table().path : "";
  }
  std::string keyOf(const std::string& path) const { return canonicalFilePath(path, tablePath()); }

  std::optional<Error> protocol() const {
    const auto* changed = findAction<Protocol>(winner_);
    if (!changed) return std::nullopt;
    if (!own_.readSnapshot) {
      // Two creations hold two table ids: Delta takes one and refuses the other, whatever they have in
      // common.
      return conflict(
          "DELTA_PROTOCOL_CHANGED", "that created the table, which this operation was about to create too",
          "Nothing of this operation is in the table. Run it again, to go on with the table that is there "
          "now; create a table before several writers start on it.");
    }
    bool conflicts = findAction<Protocol>(own_.actions) || !before_;
    if (!conflicts) conflicts = dropsFeature(before_->protocol(), *changed);
    if (!conflicts) {
      try {
        checkWritable(*changed, before_->metadata(), tablePath());
      } catch (const Error&) {
        conflicts = true;
      }
    }
    if (!conflicts) return std::nullopt;
    return conflict("DELTA_PROTOCOL_CHANGED", "it changed the table's protocol", "Run the operation again.");
  }

  std::optional<Error> metadata() const {
    const auto* changed = findAction<Metadata>(winner_);
    if (!changed) return std::nullopt;
    if (!findAction<Metadata>(own_.actions) && before_ && differsHarmlessly(before_->metadata(), *changed)) {
      return std::nullopt;
    }
    return conflict("DELTA_METADATA_CHANGED", "it changed the table's schema, partitioning or properties",
                    "Run the operation again with the new metadata.");
  }

  std::optional<Error> domains() const {
    for (const Action& theirs : winner_) {
      const auto* domain = std::get_if<DomainMetadata>(&theirs);
      if (!domain) continue;
      for (const Action& ours : own_.actions) {
        const auto* own = std::get_if<DomainMetadata>(&ours);
        // Row ids are given out anew on top of the winner.
        if (own && own->domain == domain->domain && own->domain != "delta.rowTracking") {
          return conflict("DELTA_CONCURRENT_TRANSACTION",
                          "it changed the metadata domain " + domain->domain + ", as this did",
                          "Run the operation again.");
        }
      }
    }
    return std::nullopt;
  }

  std::optional<Error> transactions() const {
    for (const Action& theirs : winner_) {
      const auto* transaction = std::get_if<SetTransaction>(&theirs);
      if (!transaction || !own_.reads.appIds.contains(transaction->appId)) continue;
      return conflict("DELTA_CONCURRENT_TRANSACTION",
                      "it recorded version " + std::to_string(transaction->version) + " of the application " +
                          transaction->appId + ", which this operation writes for too",
                      "Stop one of the two: two queries may not share an application id or a checkpoint.");
    }
    return std::nullopt;
  }

  bool winnerAppendedBlindly() const {
    const auto* info = findAction<CommitInfo>(winner_);
    return info && readCommitInfoFields(*info).isBlindAppend.value_or(false);
  }

  bool mayHaveRead(const AddFile& file) const {
    if (own_.reads.wholeTable) return true;
    return std::any_of(own_.reads.filters.begin(), own_.reads.filters.end(),
                       [&](const ReadFilter& filter) { return filter(file); });
  }

  std::optional<Error> appends() const {
    if (own_.isBlindAppend || own_.isolationLevel == IsolationLevel::SnapshotIsolation) return std::nullopt;
    const bool anyOrder =
        own_.isolationLevel == IsolationLevel::WriteSerializable && !findAction<Metadata>(own_.actions);
    if (anyOrder && winnerAppendedBlindly()) return std::nullopt;
    for (const Action& theirs : winner_) {
      const auto* add = std::get_if<AddFile>(&theirs);
      if (!add || !mayHaveRead(*add)) continue;
      return conflict("DELTA_CONCURRENT_APPEND.WITHOUT_HINT",
                      "it added files (" + add->path + ") to what this operation had read",
                      "Run the operation again.");
    }
    return std::nullopt;
  }

  bool hadRead(const RemoveFile& remove) const {
    if (own_.reads.files.contains(keyOf(remove.path))) return true;
    // What was not there when we looked was not read.
    const std::string dv = remove.deletionVector ? remove.deletionVector->uniqueId() : std::string();
    std::optional<AddFile> live;
    if (own_.readSnapshot) live = own_.readSnapshot->files().findLive(remove.path, dv);
    if (!live) return false;
    return mayHaveRead(*live);
  }

  std::optional<Error> deletesOfRead() const {
    if (!own_.reads.dependsOnFiles()) return std::nullopt;
    for (const Action& theirs : winner_) {
      const auto* remove = std::get_if<RemoveFile>(&theirs);
      if (!remove || !hadRead(*remove)) continue;
      return conflict("DELTA_CONCURRENT_DELETE_READ.WITHOUT_HINT",
                      "it removed files (" + remove->path + ") that this operation had read",
                      "Run the operation again.");
    }
    return std::nullopt;
  }

  std::optional<Error> deletesOfDeleted() const {
    std::set<std::string> removed;
    for (const Action& ours : own_.actions) {
      if (const auto* remove = std::get_if<RemoveFile>(&ours)) removed.insert(keyOf(remove->path));
    }
    if (removed.empty()) return std::nullopt;
    for (const Action& theirs : winner_) {
      const auto* remove = std::get_if<RemoveFile>(&theirs);
      if (!remove || !removed.contains(keyOf(remove->path))) continue;
      return conflict("DELTA_CONCURRENT_DELETE_DELETE.WITHOUT_HINT",
                      "it removed files (" + remove->path + ") that this operation removes too",
                      "Run the operation again.");
    }
    return std::nullopt;
  }

  const PendingCommit& own_;
  const std::vector<Action>& winner_;
  int64_t version_;
  const Snapshot* before_;
};

}  // namespace

std::optional<Error> findConflict(const PendingCommit& own, const std::vector<Action>& winner,
                                  int64_t winnerVersion, const Snapshot* before) {
  return Checker(own, winner, winnerVersion, before).check();
}

bool isDataConflict(const Error& conflict) {
  const std::string& condition = conflict.condition();
  return condition.starts_with("DELTA_CONCURRENT_APPEND") ||
         condition.starts_with("DELTA_CONCURRENT_DELETE_READ") ||
         condition.starts_with("DELTA_CONCURRENT_DELETE_DELETE");
}

}  // namespace thalweg::delta
