#include "cli/commands.h"
#include "cli/process_memory.h"

int main(int argc, char** argv) {
  thalweg::cli::setUpMemory();
  return thalweg::cli::run(argc, argv);
}
