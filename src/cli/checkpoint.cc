#include "cli/checkpoint.h"

#include <charconv>
#include <cstdio>
#include <filesystem>

#include <arrow/memory_pool.h>
#include <CLI/CLI.hpp>

#include "columnar/binary_row.h"
#include "common/error.h"
#include "state/logged_state.h"
#include "state/operator_metadata.h"
#include "state/state_files.h"
#include "state/state_schema.h"
#include "streaming/checkpoint/checkpoint.h"
#include "types/text/time_text.h"

namespace thalweg::cli {
namespace {

constexpr const char* kPartitionsKey = "spark.sql.shuffle.partitions";
constexpr size_t kDecodedRows = 4096;

// Decodes a store's rows, so that a row that is none is found.
class RowCheck : public StateReceiver {
 public:
  explicit RowCheck(const StateSchema& schema)
      : key_(fieldTypes(*schema.key), BinaryRowDecoder::Role::Key, arrow::default_memory_pool()),
        value_(fieldTypes(*schema.value), BinaryRowDecoder::Role::Value, arrow::default_memory_pool()) {}

  void restart() override {}
  void apply(const StateChange& change) override {
    key_.append({&change.key, 1});
    if (change.kind == StateChange::Kind::Put) value_.append({&change.value, 1});
    if (++numUnfinished_ < kDecodedRows) return;
    numUnfinished_ = 0;
    key_.finish();
    value_.finish();
  }

 private:
  BinaryRowDecoder key_, value_;
  size_t numUnfinished_ = 0;
};

class Report {
 public:
  Report(Location folder, bool verify) : folder_(std::move(folder)), verify_(verify) {}

  int run() {
    if (!folder_.fileSystem->stat(folder_.path + "/metadata")) {
      throw Error("STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
                  "There is no checkpoint in " + folder_.path + ": it has no file named metadata.");
    }
    Checkpoint checkpoint(folder_);
    std::printf("checkpoint %s\nquery id   %s\n", folder_.path.c_str(), checkpoint.queryId().c_str());
    readBatches(checkpoint);
    for (const FileInfo& entry : folder_.fileSystem->list(folder_.path + "/state")) {
      int64_t operatorId = 0;
      const std::string name(entry.name());
      const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), operatorId);
      if (error == std::errc() && end == name.data() + name.size())
        guarded([&] { showOperator(operatorId); });
    }
    if (numProblems_ > 0)
      std::printf("%d problem%s found, named above\n", numProblems_, numProblems_ == 1 ? "" : "s");
    else
      std::printf("%s\n",
                  verify_ ? "every store that the next batch needs can be loaded" : "no problem seen");
    return numProblems_ == 0 ? 0 : 1;
  }

 private:
  template <typename Action>
  void guarded(Action action) {
    try {
      action();
    } catch (const Error& error) {
      problem(error.message());
    }
  }

  void problem(const std::string& text) {
    ++numProblems_;
    std::printf("problem: %s\n", text.c_str());
  }

  void readBatches(Checkpoint& checkpoint) {
    const std::optional<int64_t> planned = checkpoint.offsets().latest(),
                                 committed = checkpoint.commits().latest();
    std::printf("batches    planned up to %s, committed up to %s\n", textOf(planned).c_str(),
                textOf(committed).c_str());
    if (!planned) return;
    if (committed && *committed > *planned)
      problem("commits/" + std::to_string(*committed) + " has no offsets");
    nextVersion_ = committed.value_or(-1) + 1;
    guarded([&] {
      const std::optional<OffsetEntry> entry = checkpoint.readOffsets(*planned);
      if (!entry) return;
      configuration_ = entry->configuration;
      std::printf("watermark  %s at batch %lld\n", watermarkText(entry->watermarkMs).c_str(),
                  static_cast<long long>(*planned));
      for (size_t i = 0; i < entry->offsets.size(); ++i) {
        std::printf("source %zu   %s\n", i,
                    entry->offsets[i] ? std::string(*entry->offsets[i]).c_str() : "-");
      }
    });
    // One batch may be planned and not committed; an emptied commits/ makes the query begin with old state.
    if (committed.value_or(-1) < *planned - 1)
      problem("batches after " + textOf(committed) + " and before " + std::to_string(*planned) +
              " are not committed: files of commits/ are missing");
  }

  // 0 stands for none in the log.
  static std::string watermarkText(int64_t ms) {
    if (ms == 0) return "none";
    std::string text;
    appendIsoTimestamp(ms * 1000, &text);
    return text + "Z (" + std::to_string(ms) + " ms)";
  }

  static std::string textOf(std::optional<int64_t> batch) { return batch ? std::to_string(*batch) : "none"; }

  void showOperator(int64_t operatorId) {
    const std::string folder = folder_.path + "/state/" + std::to_string(operatorId);
    OperatorMetadata metadata;
    if (const auto found = readOperatorMetadata(*folder_.fileSystem, folder)) {
      metadata = *found;
    } else {
      metadata.operatorId = operatorId;
      metadata.operatorName = "without metadata (Spark 3.5 writes none)";
      metadata.stores = storesOnDisk(folder);
    }
    std::printf("operator %lld %s\n", static_cast<long long>(operatorId), metadata.operatorName.c_str());
    for (const StateStoreInfo& store : metadata.stores) {
      guarded([&] { showStore(metadata, store); });
    }
  }

  // Folders of partition 0 that hold a store, where no metadata names them.
  std::vector<StateStoreInfo> storesOnDisk(const std::string& folder) const {
    const auto configured = configuration_.find(kPartitionsKey);
    int partitions = 0;
    if (configured != configuration_.end()) {
      const std::string& text = configured->second;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), partitions);
      if (error != std::errc() || end != text.data() + text.size() || partitions < 1) {
        throw Error("STATE_STORE_CHECKPOINT_CORRUPT", std::string(kPartitionsKey) + " is \"" + text +
                                                          "\" in the offset log: no number of partitions");
      }
    }
    std::vector<StateStoreInfo> stores;
    if (folder_.fileSystem->stat(folder + "/0/_metadata/schema"))
      stores.push_back({kDefaultStateStore, 0, partitions});
    for (const FileInfo& entry : folder_.fileSystem->list(folder + "/0")) {
      if (folder_.fileSystem->stat(entry.path + "/_metadata/schema"))
        stores.push_back({std::string(entry.name()), 0, partitions});
    }
    return stores;
  }

  void showStore(const OperatorMetadata& metadata, const StateStoreInfo& info) {
    const int64_t operatorId = metadata.operatorId;
    StateStoreId id{folder_.path + "/state", operatorId, 0, info.storeName};
    const std::optional<StateSchema> schema = readStateSchema(*folder_.fileSystem, id);
    if (!schema)
      return problem("the store " + info.storeName + " of operator " + std::to_string(operatorId) +
                     " has no schema file");
    const int numPartitions = numPartitionsUsed(metadata, info, *schema->key);
    std::printf("  store %s, %d partitions\n    key   %s\n    value %s\n", info.storeName.c_str(),
                numPartitions, schema->key->simpleString().c_str(),
                schema->value->simpleString().c_str());
    const LoggedState logged = loggedState(configuration_, schema->key, info.numColsPrefixKey);
    for (id.partitionId = 0; id.partitionId < numPartitions; ++id.partitionId) {
      const auto files = openStateFiles(logged.provider, folder_.fileSystem, id, logged.format,
                                        std::filesystem::temp_directory_path().string());
      guarded([&] { showPartition(*files, id, *schema); });
    }
  }

  void showPartition(StateFiles& files, const StateStoreId& id, const StateSchema& schema) {
    const StateVersions versions = files.latestVersions();
    std::printf("    partition %d: version %lld, newest snapshot %lld\n", id.partitionId,
                static_cast<long long>(versions.latest), static_cast<long long>(versions.latestSnapshot));
    if (versions.latest < nextVersion_) {
      problem("partition " + std::to_string(id.partitionId) + " has version " +
              std::to_string(versions.latest) + " of the state, and the next batch needs " +
              std::to_string(nextVersion_));
    } else if (verify_) {
      RowCheck rows(schema);
      files.load(nextVersion_, rows);
    }
  }

  Location folder_;
  bool verify_;
  int numProblems_ = 0;
  int64_t nextVersion_ = 0;
  std::map<std::string, std::string> configuration_;
};

}  // namespace

CLI::App* addCheckpointCommand(CLI::App& program, CheckpointOptions* options) {
  CLI::App* command = program.add_subcommand(
      "checkpoint", "Show what a query's checkpoint holds, or verify that the query can go on from it");
  command->require_subcommand(1);
  CLI::App* show = command->add_subcommand("show", "Batches, watermark, state operators and their versions");
  CLI::App* verify =
      command->add_subcommand("verify", "The same, and load all state that the next batch needs");
  for (CLI::App* action : {show, verify})
    action->add_option("FOLDER", options->folder, "The checkpoint's folder")->required();
  verify->parse_complete_callback([options] { options->verify = true; });
  return command;
}

int runCheckpoint(const CheckpointOptions& options) {
  return Report(FileSystemRegistry().resolve(options.folder), options.verify).run();
}

}  // namespace thalweg::cli
