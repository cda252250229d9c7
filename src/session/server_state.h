// What all sessions of a server share.
#pragma once

#include <memory>
#include <string>

#include "common/task_pool.h"
#include "connector/registry.h"
#include "session/service.h"
#include "session/streaming_queries.h"

namespace thalweg {

struct ServerState {
  explicit ServerState(const ServerOptions& options);

  ServerOptions options;
  TaskPool pool;
  FormatRegistry formats;
  // Queries of every session, so that one checkpoint runs once in a server.
  StreamingQueries queries;
};

// Adds every format that the program has to a registry.
void registerFormats(FormatRegistry* registry);

}  // namespace thalweg
