#include "cli/commands.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/checkpoint.h"
#include "cli/demo_broker.h"
#include "cli/serve.h"
#include "common/error.h"
#include "common/secret.h"

namespace thalweg::cli {

int run(int argc, char** argv) {
  CLI::App program("Thalweg: Structured Streaming without the cluster");
  program.set_version_flag("--version", "thalweg " THALWEG_VERSION);
  program.require_subcommand(1);
  ServeOptions serveOptions;
  const CLI::App* serveCommand = addServeCommand(program, &serveOptions);
  DemoBrokerOptions demoBrokerOptions;
  const CLI::App* demoBrokerCommand = addDemoBrokerCommand(program, &demoBrokerOptions);
  CheckpointOptions checkpointOptions;
  const CLI::App* checkpointCommand = addCheckpointCommand(program, &checkpointOptions);
  try {
    program.parse(argc, argv);
    if (serveCommand->parsed()) return serve(std::move(serveOptions), &makeSessionFactory);
    if (demoBrokerCommand->parsed()) return runDemoBroker(demoBrokerOptions);
    if (checkpointCommand->parsed()) return runCheckpoint(checkpointOptions);
    return 0;
  } catch (const CLI::ParseError& problem) {
    return program.exit(problem);
  } catch (...) {
    std::fprintf(stderr, "thalweg: %s\n", maskSecrets(currentExceptionAsError().message()).c_str());
    return 1;
  }
}

}  // namespace thalweg::cli
