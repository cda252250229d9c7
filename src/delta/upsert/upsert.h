// One batch's rows go into a table, and every earlier row of their keys leaves it, in one commit.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "delta/commit/transaction.h"
#include "delta/files/partitioned_writer.h"
#include "delta/modify/row_removal.h"
#include "delta/scan/table_layout.h"
#include "delta/upsert/change_files.h"
#include "delta/upsert/changed_keys.h"
#include "delta/upsert/key_hasher.h"
#include "delta/upsert/row_locator.h"

namespace thalweg::delta {

// What batches of one query into one table have in common: the key and the cache of where its rows lie.
class UpsertKey {
 public:
  // `names` of the table's columns, any case; none: all rows of the table have the one key. Columns may be
  // structs, whose members are the key then. Throws as KeyHasher.
  UpsertKey(const Schema& table, const std::vector<std::string>& names,
            int64_t maxIndexBytes = int64_t{256} << 20);

  const std::vector<std::string>& names() const { return names_; }
  const KeyHasher& hasher() const { return hasher_; }
  RowLocator& locator() { return locator_; }

 private:
  std::vector<std::string> names_;
  KeyHasher hasher_;
  RowLocator locator_;
};

// One batch. Tasks write in any threads; then one thread commits. A batch has at most one row a key.
class Upsert {
 public:
  // `layout` is of the table as it will be after the commit, `changes` too where the table has a change data
  // feed.
  Upsert(std::shared_ptr<UpsertKey> key, TableLayoutPtr layout,
         std::optional<DataFileLayout> changes = std::nullopt);
  ~Upsert();

  // The rows of one task on their way into a PartitionedWriter. Used by one thread; may not outlive the
  // upsert.
  class Task {
   public:
    explicit Task(Upsert& upsert);
    // Writes rows of the table's columns and notes their keys. Throws unsupported() for an empty text in a
    // partition column of the key: the table would not tell it from null.
    void write(PartitionedWriter& writer, const std::shared_ptr<arrow::RecordBatch>& rows);
    // After the last row: the batch has them.
    void close();

   private:
    Upsert& upsert_;
    ChangedKeys keys_;
    std::vector<KeyHash> batch_;                         // of the rows in hand
    std::map<std::string, std::vector<KeyHash>> files_;  // by log path, in order of rows
  };

  // For Transaction::planFiles, after all tasks closed: removes the earlier rows, as the transaction's read
  // snapshot has them, adds `files`, which the tasks wrote, and says that files which may hold a key were
  // read. `nowMs` is the time of the removals. May be called again.
  RemovalMetrics plan(Transaction& transaction, const std::vector<AddFile>& files, int64_t nowMs);
  // After a commit that certainly failed: takes away the files that the last plan made. Without this call
  // they stay, for a commit that fails with an exception may be in the log.
  void discard() noexcept;
  // After the commit: the cache learns where the rows lie.
  void committed();

 private:
  friend class Task;
  std::shared_ptr<UpsertKey> key_;
  TableLayoutPtr layout_;
  std::vector<int> columns_;  // of the key, indexes into the layout's schema
  std::vector<KeyLeaf> leaves_;
  std::mutex mutex_;
  ChangedKeys keys_;
  bool finished_ = false;
  std::map<std::string, std::shared_ptr<const KeyIndex>> written_;  // by log path
  std::optional<DataFileLayout> changeLayout_;
  std::unique_ptr<RowRemoval> removal_;  // of the last plan, and so its changes
  std::unique_ptr<ChangeFiles> changes_;
};

}  // namespace thalweg::delta
