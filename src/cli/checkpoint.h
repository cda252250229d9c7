// `thalweg checkpoint show|verify FOLDER`: what a query's checkpoint holds, and whether the query can go on
// from it.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace thalweg::cli {

struct CheckpointOptions {
  std::string folder;
  bool verify = false;
};

// Adds the subcommand and its options, which are written to `options` when the program's line is parsed.
CLI::App* addCheckpointCommand(CLI::App& program, CheckpointOptions* options);

// Prints the query's id, its batches, watermark, state operators and stores; with verify, also loads every
// store at the version that the next batch begins with and decodes its rows. Reads only. Returns the
// process's exit status: 0, or 1 where something is wrong, each on a line "problem: …". Throws Error where
// the folder is no checkpoint.
int runCheckpoint(const CheckpointOptions& options);

}  // namespace thalweg::cli
