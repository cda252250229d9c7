#include "sources/state/state_read_plan.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "common/error.h"
#include "state/operator_metadata.h"
#include "state/state_files.h"

namespace thalweg {
namespace {

// What a user who named no store, or none that is there, may say instead.
std::string whatToSay(const std::optional<OperatorMetadata>& metadata) {
  if (!metadata) return "format(\"state-metadata\") lists the operators; the option operatorId chooses.";
  std::string names;
  for (const StateStoreInfo& store : metadata->stores) names += (names.empty() ? "" : ", ") + store.storeName;
  if (metadata->operatorName != "symmetricHashJoin")
    return "The operator is " + metadata->operatorName + "; the option storeName takes: " + names + ".";
  return "The operator joins two streams, each with rows of its own: say joinSide left or right to read "
         "them, or one store by storeName: " +
         names + ".";
}

[[noreturn]] void throwNoStore(const StateStoreId& id, const std::optional<OperatorMetadata>& metadata) {
  throw Error(
      "STDS_FAILED_TO_READ_STATE_SCHEMA",
      "The store " + id.storeName + " of operator " + std::to_string(id.operatorId) +
          " has no metadata or schema in " + id.stateFolder + ". " + whatToSay(metadata),
      {{"sourceOptions", "operatorId=" + std::to_string(id.operatorId) + ", storeName=" + id.storeName}});
}

// The checkpoint's operator, whose stores are looked up by name.
class OperatorToRead {
 public:
  OperatorToRead(const Location& checkpoint, int64_t operatorId,
                 std::map<std::string, std::string> configuration)
      : fileSystem_(checkpoint.fileSystem), configuration_(std::move(configuration)) {
    id_.stateFolder = checkpoint.path + "/state";
    id_.operatorId = operatorId;
    metadata_ = readOperatorMetadata(*fileSystem_, folder());
  }

  StoreToRead store(const std::string& name) const {
    refuseColumnFamilies();
    StoreToRead store;
    store.id = id_;
    store.id.storeName = name;
    const StateStoreInfo* info = metadata_ ? metadata_->store(name) : nullptr;
    // Spark 3.5 wrote no metadata; its state can be read unless keys are stored by a prefix.
    const bool isKnown = info != nullptr || (!metadata_ && isFolderName(name));
    const auto schema = isKnown ? readStateSchema(*fileSystem_, store.id) : std::nullopt;
    if (!schema) throwNoStore(store.id, metadata_);
    store.schema = *schema;
    store.logged = loggedState(configuration_, schema->key, info == nullptr ? 0 : info->numColsPrefixKey);
    return store;
  }

  std::vector<int32_t> partitions(const StoreToRead& store) const {
    std::vector<int32_t> numbers;
    if (metadata_) {
      numbers.resize(static_cast<size_t>(
          numPartitionsUsed(*metadata_, *metadata_->store(store.id.storeName), *store.schema.key)));
      std::iota(numbers.begin(), numbers.end(), 0);
      return numbers;
    }
    for (const FileInfo& entry : fileSystem_->list(folder())) {
      const std::string_view name = entry.name();
      int32_t number = -1;
      const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
      if (error == std::errc() && end == name.data() + name.size() && number >= 0) numbers.push_back(number);
    }
    std::ranges::sort(numbers);
    return numbers;
  }

 private:
  std::string folder() const { return id_.stateFolder + "/" + std::to_string(id_.operatorId); }

  static bool isFolderName(std::string_view name) {
    return name != "." && name != ".." && name.find('/') == std::string_view::npos &&
           name.find('\0') == std::string_view::npos;
  }

  void refuseColumnFamilies() const {
    if (!metadata_) return;
    for (const StateStoreInfo& info : metadata_->stores) {
      if (!info.schemaFilePaths.empty())
        throw unsupported("The state of operator " + std::to_string(id_.operatorId) + " (" +
                          metadata_->operatorName + ") in column families");
    }
  }

  std::shared_ptr<FileSystem> fileSystem_;
  std::map<std::string, std::string> configuration_;
  StateStoreId id_;
  std::optional<OperatorMetadata> metadata_;
};

// A join's rows end with what the join notes of them, whether they met a partner; it is no column of the
// side.
SchemaPtr columnsOfSide(const DataType& row) {
  std::vector<StructField> fields = row.fields();
  if (!fields.empty() && fields.back().name == "matched" && fields.back().type->id() == TypeId::Boolean)
    fields.pop_back();
  return DataType::structOf(std::move(fields));
}

// Rows are found by the key of `counts` and an index.
void checkJoinKeys(const StoreToRead& counts, const StoreToRead& rows) {
  const auto& key = counts.schema.key->fields();
  const auto& indexed = rows.schema.key->fields();
  const auto sameType = [](const StructField& one, const StructField& other) {
    return equals(*one.type, *other.type);
  };
  if (indexed.size() == key.size() + 1 && std::equal(key.begin(), key.end(), indexed.begin(), sameType) &&
      indexed.back().type->id() == TypeId::Long)
    return;
  throw Error("STATE_STORE_CHECKPOINT_CORRUPT",
              "The schemas of the stores " + counts.id.storeName + " and " + rows.id.storeName + " in " +
                  counts.id.stateFolder +
                  " do not belong together: the keys of the second are not those of the "
                  "first and an index.",
              {{"fileToRead", rows.id.folder() + "/_metadata/schema"}});
}

StateTableShape shapeOf(const StateReadPlan& plan) {
  const SchemaPtr& key = plan.counts ? plan.counts->schema.key : plan.store.schema.key;
  const SchemaPtr value = plan.counts ? columnsOfSide(*plan.store.schema.value) : plan.store.schema.value;
  StateTableShape shape{{}, nullptr, key, plan.store.schema.value};
  std::vector<StructField> fields;
  const auto add = [&](StateColumn column, const char* name, DataTypePtr type) {
    shape.columns.push_back(column);
    fields.push_back({name, std::move(type)});
  };
  if (plan.options.firstChangedBatch) {
    add(StateColumn::BatchId, "batch_id", longType());
    add(StateColumn::ChangeType, "change_type", stringType());
  }
  add(StateColumn::Key, "key", key);
  add(StateColumn::Value, "value", value);
  add(StateColumn::PartitionId, "partition_id", intType());
  shape.schema = DataType::structOf(std::move(fields));
  return shape;
}

std::unique_ptr<StateFiles> openFiles(const StateReadPlan& plan, const StoreToRead& store,
                                      int32_t partition) {
  StateStoreId id = store.id;
  id.partitionId = partition;
  return openStateFiles(store.logged.provider, plan.fileSystem, id, store.logged.format,
                        plan.temporaryFolder);
}

}  // namespace

std::unique_ptr<StateRows> StateReadPlan::rows(int32_t partition) const {
  auto files = openFiles(*this, store, partition);
  if (options.firstChangedBatch)
    return rowsOfChanges(std::move(files), *options.firstChangedBatch, options.batchId);
  StateVersionToRead version{options.batchId + 1, std::nullopt};
  if (options.snapshot) version.snapshotVersion = options.snapshot->batchId + 1;
  if (!counts) return rowsOfVersion(std::move(files), version);
  return rowsOfJoinSide(openFiles(*this, *counts, partition), std::move(files), store.schema.key, version);
}

std::shared_ptr<const StateReadPlan> planStateRead(const Location& checkpoint, StateReadOptions options,
                                                   const std::map<std::string, std::string>& configuration,
                                                   std::string temporaryFolder) {
  auto plan = std::make_shared<StateReadPlan>();
  plan->fileSystem = checkpoint.fileSystem;
  plan->options = std::move(options);
  plan->temporaryFolder = std::move(temporaryFolder);
  const OperatorToRead from(checkpoint, plan->options.operatorId, configuration);
  const std::string& side = plan->options.joinSide;
  if (side.empty()) {
    plan->store = from.store(plan->options.storeName);
  } else {
    plan->counts = from.store(side + "-keyToNumValues");
    plan->store = from.store(side + "-keyWithIndexToValue");
    checkJoinKeys(*plan->counts, plan->store);
  }
  plan->partitions = from.partitions(plan->store);
  plan->shape = shapeOf(*plan);
  return plan;
}

}  // namespace thalweg
