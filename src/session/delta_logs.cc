#include "session/delta_logs.h"

namespace thalweg {

std::shared_ptr<delta::DeltaLog> DeltaLogs::get(const Location& table) {
  std::lock_guard lock(mutex_);
  auto& log = logs_[table.uri()];
  if (!log) {
    log = std::make_shared<delta::DeltaLog>(table, systemClock(), [this](std::function<void()> work) { pool_.submit(std::move(work)); });
  }
  return log;
}

}  // namespace thalweg
