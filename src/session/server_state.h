// What all sessions of a server share.
#pragma once

#include <memory>
#include <string>

#include "catalog/catalog.h"
#include "common/task_pool.h"
#include "connector/registry.h"
#include "session/delta_logs.h"
#include "session/service.h"
#include "session/streaming_queries.h"
#include "session/temporary_views.h"

namespace thalweg {

struct ServerState {
  explicit ServerState(const ServerOptions& options);
  // Of local disk, for the server's own files: where roots bound its paths, one of them.
  std::string temporaryFolder() const;

  ServerOptions options;
  TaskPool pool;
  std::shared_ptr<DeltaLogs> deltaLogs;
  FormatRegistry formats;
  Catalog catalog;
  TemporaryViews globalViews;  // global_temp
  // Queries of every session, so that one checkpoint runs once in a server.
  StreamingQueries queries;
};

// Adds every format that the program has to a registry. `temporaryFolder` is of local disk.
void registerFormats(FormatRegistry* registry, const std::shared_ptr<DeltaLogs>& logs, TaskPool& pool,
                     const std::string& temporaryFolder);

}  // namespace thalweg
