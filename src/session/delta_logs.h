// The Delta tables that a server has touched: one handle a table, so that all queries share its cached snapshot.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "common/task_pool.h"
#include "delta/snapshot/delta_log.h"
#include "storage/file_system.h"

namespace thalweg {

// Any thread.
class DeltaLogs {
 public:
  // Checkpoints and checksums are written on the pool, off the commits' path.
  explicit DeltaLogs(TaskPool& pool) : pool_(pool) {}
  std::shared_ptr<delta::DeltaLog> get(const Location& table);

 private:
  TaskPool& pool_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<delta::DeltaLog>> logs_;
};

}  // namespace thalweg
