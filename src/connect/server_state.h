// What all calls of one server share.
#pragma once

#include <memory>

#include "connect/error_store.h"
#include "connect/limits.h"
#include "connect/session_registry.h"
#include "connect/tokens.h"
#include "connect/worker_pool.h"
#include "session/service.h"

namespace thalweg::connect {

struct ServerState {
  ServerState(const Limits& limits, TokenList tokens, std::shared_ptr<SessionFactory> factory)
      : limits(limits),
        tokens(std::move(tokens)),
        factory(factory),
        sessions(factory, limits),
        executions(limits.executionThreads),
        calls(limits.callThreads) {}

  const Limits limits;
  const TokenList tokens;
  const std::shared_ptr<SessionFactory> factory;
  SessionRegistry sessions;
  ErrorStore errors;
  // Plans run and are analyzed on the first; the short calls have threads of their own, so that Interrupt
  // always gets one.
  WorkerPool executions;
  WorkerPool calls;
};

}  // namespace thalweg::connect
