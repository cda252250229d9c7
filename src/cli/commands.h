// The program's command line.
#pragma once

namespace thalweg::cli {

// Runs the subcommand that argv names; returns the process's exit status. Errors go to standard error.
int run(int argc, char** argv);

}  // namespace thalweg::cli
