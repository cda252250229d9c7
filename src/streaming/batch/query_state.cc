#include "streaming/batch/query_state.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "common/error.h"
#include "common/logging.h"
#include "exec/state/input_watermarks.h"
#include "state/operator_metadata.h"
#include "state/state_schema.h"

namespace thalweg {
namespace {

using OperatorNames = std::map<int64_t, std::string>;

// The number that a folder's name is.
std::optional<int64_t> numberOf(std::string_view name) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

std::string textOf(const OperatorNames& names) {
  std::string text = "[";
  for (const auto& [id, name] : names)
    text += (text.size() > 1 ? ", " : "") + std::string("(OperatorId: ") + std::to_string(id) +
            " -> OperatorName: " + name + ")";
  return text + "]";
}

// `kind`: whose setting names the version.
void checkFormat(const std::map<std::string, std::string>& configuration, const std::string& kind) {
  const auto found = configuration.find("spark.sql.streaming." + kind + ".stateFormatVersion");
  // A log that does not name the version is older than version 2.
  const std::string version = found == configuration.end() ? "1" : found->second;
  if (version != "2")
    throw unsupported("The state of an operator of the kind '" + kind + "' in format " + version);
}

}  // namespace

QueryState::QueryState(const LogicalNode& query, const PhysicalNode& plan, StateContext context)
    : plan_(plan), columns_(operatorColumns(query, plan)), context_(std::move(context)) {
  const auto nodes = statefulNodes(plan);
  context_.memoryBytes /= std::max<int64_t>(1, static_cast<int64_t>(nodes.size()));
  for (const StatefulNode* node : nodes) {
    if (node->operatorName() == "stateStoreSave") checkFormat(context_.configuration, "aggregation");
    if (node->operatorName() == "symmetricHashJoin") checkFormat(context_.configuration, "join");
    operators_.push_back(std::make_unique<OperatorState>(*node, context_));
  }
}

QueryState::~QueryState() = default;

std::string QueryState::operatorFolder(int64_t operatorId) const {
  return context_.stateFolder + "/" + std::to_string(operatorId);
}

std::vector<int64_t> QueryState::operatorFolders() const {
  std::vector<int64_t> ids;
  if (!context_.fileSystem->stat(context_.stateFolder)) return ids;
  for (const FileInfo& file : context_.fileSystem->list(context_.stateFolder)) {
    if (const auto id = numberOf(file.name())) ids.push_back(*id);
  }
  return ids;
}

void QueryState::checkIsEmpty() const {
  if (operatorFolders().empty()) return;
  throw Error("STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",
              "The checkpoint has state in " + context_.stateFolder +
                  " but no batch to which it belongs. Restore its folders offsets "
                  "and commits, or start with a new checkpoint.",
              {{"checkpointLocation", context_.stateFolder}});
}

void QueryState::prepare(int64_t batchId) {
  if (prepared_) return;
  if (batchId > 0) checkOperators();
  for (const auto& one : operators_) describeOperator(one->node());
  prepared_ = true;
}

void QueryState::checkOperators() const {
  OperatorNames known, planned;
  const std::vector<int64_t> folders = operatorFolders();
  for (const int64_t id : folders) {
    if (const auto metadata = readOperatorMetadata(*context_.fileSystem, operatorFolder(id))) known[id] = metadata->operatorName;
  }
  for (const auto& one : operators_) {
    const StatefulNode& node = one->node();
    planned[node.operatorId()] = node.operatorName();
    if (std::find(folders.begin(), folders.end(), node.operatorId()) != folders.end()) continue;
    throw Error("STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY",
                "The query has a stateful operator (" + node.operatorName() + ") without state in " +
                    operatorFolder(node.operatorId()) +
                    ": it was added since the checkpoint was begun, or the folder is lost. Undo the change, "
                    "restore the folder, or start "
                    "with a new checkpoint.",
                {{"OpsInCurBatchSeq", textOf(planned)}});
  }
  if (known.empty() || known == planned) return;  // Spark before 4 wrote no metadata
  throw Error("STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA",
              "The checkpoint holds the state of the operators " + textOf(known) + ", but the query has " +
                  textOf(planned) + ". Undo the change, or start with a new checkpoint.",
              {{"OpsInMetadataSeq", textOf(known)}, {"OpsInCurBatchSeq", textOf(planned)}});
}

void QueryState::describeOperator(const StatefulNode& node) const {
  OperatorMetadata metadata;
  metadata.operatorId = node.operatorId();
  metadata.operatorName = node.operatorName();
  const auto columns = columns_.find(node.operatorId());
  for (const StoreDefinition& store : node.stores()) {
    metadata.stores.push_back({store.name, store.numColsPrefixKey, context_.numPartitions});
    const StateStoreId id{context_.stateFolder, node.operatorId(), 0, store.name};
    const StateSchema schema{store.key, store.value};
    if (const auto stored = readStateSchema(*context_.fileSystem, id)) {
      checkStateSchema(*stored, schema, store.valueCheck);
      if (columns != columns_.end() && !columns->second.keys.empty()) checkKeys(*stored->key, columns->second);
    } else {
      writeStateSchema(*context_.fileSystem, id, schema);
    }
  }
  writeOperatorMetadata(*context_.fileSystem, operatorFolder(node.operatorId()), metadata);
  checkFingerprint(node);
}

// Spark takes min's state for max's, as both have a value of one type; the file beside Spark's metadata knows
// better. Checkpoints of Spark have none: it is then written at the first start here. A line has the operator's
// fingerprint, the next one what its functions read, which the first version lacked.
void QueryState::checkFingerprint(const StatefulNode& node) const {
  const std::string path = operatorFolder(node.operatorId()) + "/_metadata/thalweg";
  const auto columns = columns_.find(node.operatorId());
  const std::string text = "v2\n" + node.fingerprint() + "\n" + formatArguments(columns == columns_.end() ? OperatorColumns() : columns->second);
  const std::string stored = context_.fileSystem->stat(path) ? context_.fileSystem->readAll(path) : "";
  if (stored == text) return;
  if (stored.starts_with("v1\n") || stored.starts_with("v2\n")) {
    const size_t end = stored.find('\n', 3);
    const std::string before = stored.substr(3, end == std::string::npos ? end : end - 3);
    if (before != node.fingerprint()) {
      throw Error("STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE",
                  "The query's state was made by " + before + ", and the query now has " + node.fingerprint() +
                      ", which would go on with values that are not its own. Undo the change, or start with a "
                      "new checkpoint.",
                  {{"storedValueSchema", before}, {"newValueSchema", node.fingerprint()}});
    }
    if (end != std::string::npos && columns != columns_.end()) checkArguments(stored.substr(end + 1), columns->second);
  } else if (!stored.empty()) {
    return;  // of a version to come
  }
  context_.fileSystem->writeAtomically(path, text);
}

void QueryState::bind(int64_t batchId, const BatchWatermarks& watermarks, Execution* execution) {
  const std::vector<int64_t> late = inputWatermarks(plan_, watermarks.lateMs);
  const std::vector<int64_t> eviction = inputWatermarks(plan_, watermarks.evictionMs);
  for (size_t i = 0; i < operators_.size(); ++i) {
    operators_[i]->load(batchId);
    execution->states.push_back(operators_[i].get());
    execution->watermarks.push_back({late[i], eviction[i]});
  }
}

void QueryState::commit() {
  for (const auto& one : operators_) one->commit();
}

void QueryState::maintain() {
  for (const auto& one : operators_) {
    try {
      one->maintain();
    } catch (const Error& error) {
      logWarn("The state in {} is not tidied up: {}", operatorFolder(one->node().operatorId()), error.text());
    }
  }
}

bool QueryState::wantsAnotherBatch(int64_t usedWatermarkMs, int64_t watermarkMs) const {
  const std::vector<int64_t> used = inputWatermarks(plan_, usedWatermarkMs);
  const std::vector<int64_t> now = inputWatermarks(plan_, watermarkMs);
  for (size_t i = 0; i < operators_.size(); ++i) {
    if (operators_[i]->node().wantsAnotherBatch(used[i], now[i])) return true;
  }
  return false;
}

std::vector<StateOperatorProgress> QueryState::progress() const {
  std::vector<StateOperatorProgress> all;
  for (const auto& one : operators_) {
    const StateMetrics& metrics = one->metrics();
    StateOperatorProgress progress;
    progress.operatorName = one->node().operatorName();
    progress.numRowsTotal = one->numKeys();
    progress.numRowsUpdated = metrics.rowsUpdated;
    progress.allUpdatesTimeMs = metrics.updatesMs;
    progress.numRowsRemoved = metrics.rowsRemoved;
    progress.allRemovalsTimeMs = metrics.removalsMs;
    progress.commitTimeMs = metrics.commitMs;
    progress.memoryUsedBytes = one->memoryBytes();
    progress.numRowsDroppedByWatermark = metrics.rowsDroppedByWatermark;
    progress.numShufflePartitions = context_.numPartitions;
    progress.numStateStoreInstances = one->numStores();
    progress.customMetrics = one->node().customMetrics(metrics);
    if (one->provider() == StateProvider::HdfsBacked)
      progress.customMetrics["stateOnCurrentVersionSizeBytes"] = progress.memoryUsedBytes;
    all.push_back(std::move(progress));
  }
  return all;
}

}  // namespace thalweg
