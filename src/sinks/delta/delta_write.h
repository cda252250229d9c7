// One write into a Delta table: its schema is settled first, tasks write files, one commit publishes them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "connector/sink.h"
#include "delta/commit/transaction.h"
#include "delta/files/data_file_writer.h"
#include "delta/files/row_rules.h"
#include "delta/files/schema_enforcement.h"
#include "delta/modify/table_edit.h"
#include "delta/snapshot/delta_log.h"
#include "delta/upsert/upsert.h"
#include "sinks/delta/delta_write_options.h"

namespace thalweg {

// What the engine does for a write, for the Delta library has neither SQL nor threads.
struct DeltaWriteEngine {
  delta::CastFunction cast;  // empty: types must be the table's
  std::shared_ptr<const delta::ExpressionEvaluator>
      expressions;                                  // null: tables with rules in SQL are refused
  delta::RunTasks runTasks;                         // empty: on the caller's thread
  int numTasks = 1;                                 // that it runs at once
  const CancellationToken* cancellation = nullptr;  // outlives the write; null: none
  TimeZone timeZone = {};                           // the session's
};

struct DeltaWriteRequest {
  SchemaPtr schema;        // of the rows
  bool overwrite = false;  // replaces rows of the table in the same commit: all, or as the options say
  bool streaming = false;
  // The commit's name and parameters (its metrics are filled in here), and what else it says.
  delta::Operation operation;
  std::optional<delta::SetTransaction> transaction;
  // The table is made, or with `overwrite` made anew, with this: partitioned as the options say.
  struct NewTable {
    std::optional<std::string> description;
    std::map<std::string, std::string> configuration;
    bool declared =
        false;  // `schema` is the table's as it stands; else it is that of rows, and every column may be null
  };
  std::optional<NewTable> newTable;
  // Rows take the place of those with the same key; null: they are only added. Kept by a query over its
  // batches.
  std::shared_ptr<delta::UpsertKey> upsertKey;
};

// Made over one snapshot; commits on top of whatever was committed since, by Delta's conflict rules.
class DeltaWrite : public BatchWrite {
 public:
  // `snapshot` null: the table is created. Throws Delta's errors of schema enforcement.
  DeltaWrite(std::shared_ptr<delta::DeltaLog> log, delta::SnapshotPtr snapshot, DeltaWriteOptions options,
             DeltaWriteRequest request, DeltaWriteEngine engine);

  std::unique_ptr<TaskWriter> openTask(int taskId) override;
  // Throws the conflict's Error (DELTA_CONCURRENT_…, DELTA_METADATA_CHANGED …) where another writer won.
  void commit() override;
  void abort() noexcept override;
  // With the option optimizeWrite, or into tables that ask for it; not of upserts, which keep groups apart.
  std::optional<Gathering> gathering() const override;

  // After commit; null where the log must be read for it.
  const delta::SnapshotPtr& committedSnapshot() const { return committed_; }

 private:
  class Task;
  bool replacesSchema() const;
  void settleSchema();
  void settleNewSchema(delta::WriteSchemaOptions rules);
  void settlePartitioning(const delta::Metadata& table) const;
  void settleProtocol();
  void checkDefaults() const;
  void settleRules();
  void settleUpsert();
  void takeFiles(std::vector<delta::AddFile> files, int64_t numRows);
  void planAppend(delta::Transaction& transaction);
  void planOverwrite(delta::Transaction& transaction, int64_t now);
  void planReplaceWhere(delta::Transaction& transaction, int64_t now);
  void planInsertChanges(delta::Transaction& transaction);
  delta::RunTasks runTasks() const;
  void compactAfterCommit() const;
  void setClustering(delta::Transaction& transaction) const;
  void planUpsert(delta::Transaction& transaction);
  void fillMetrics(const delta::RemovalMetrics& removal);
  void fillUpsertMetrics(const delta::RemovalMetrics& removal);

  std::shared_ptr<delta::DeltaLog> log_;
  delta::SnapshotPtr snapshot_;
  DeltaWriteOptions options_;
  DeltaWriteRequest request_;
  DeltaWriteEngine engine_;
  delta::Metadata metadata_;
  bool metadataChanged_ = false;
  delta::Protocol protocol_;
  bool protocolChanged_ = false;
  delta::WriteSchemaPlan plan_;
  std::unique_ptr<delta::RowRules> rules_;
  delta::DataFileLayout layout_;
  std::unique_ptr<delta::Upsert> upsert_;
  std::shared_ptr<delta::RowCondition> replaceCondition_;
  std::unique_ptr<delta::TableEdit> replaced_;  // what replaceWhere takes out
  std::mutex mutex_;
  std::vector<delta::AddFile> files_;
  std::vector<delta::AddFile> changeFiles_;
  int64_t numRows_ = 0;  // in files_
  delta::SnapshotPtr committed_;
};

}  // namespace thalweg
