#include "cli/commands.h"

int main(int argc, char** argv) {
  return thalweg::cli::run(argc, argv);
}
