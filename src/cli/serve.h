// `thalweg serve`: the Spark Connect server as a process.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "connect/server.h"
#include "session/service.h"

namespace CLI {
class App;
}

namespace thalweg::cli {

struct ServeOptions {
  connect::ConnectServerOptions server;
  ServerOptions sessions;
  std::string logLevel = "info";
};

using MakeSessionFactory = std::function<std::shared_ptr<SessionFactory>(const ServerOptions&)>;

// Adds the subcommand and its options, which are written to `options` when the program's line is parsed.
CLI::App* addServeCommand(CLI::App& program, ServeOptions* options);

// Serves until SIGTERM or SIGINT, then stops cleanly and returns the process's exit status; a second signal
// ends the process at once with status 130. Writes one line "listening on sc://HOST:PORT" to standard output
// when ready. Call before the process has other threads: the two signals are blocked in all that come later.
// Throws Error.
int serve(ServeOptions options, const MakeSessionFactory& makeFactory);

}  // namespace thalweg::cli
