// `thalweg serve`: the Spark Connect server as a process.
#pragma once

namespace CLI {
class App;
}

namespace thalweg::cli {

// Adds the subcommand and its options to the program; running it serves until SIGTERM or SIGINT.
void addServeCommand(CLI::App& program);

}  // namespace thalweg::cli
