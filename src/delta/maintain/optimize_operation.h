// What the log says of an OPTIMIZE, whoever asked for it.
#pragma once

#include <string>
#include <vector>

#include "delta/commit/commit_info.h"

namespace thalweg::delta {

struct OptimizeWords {
  std::vector<std::string> predicates = {};              // SQL, of partition columns
  std::vector<std::vector<std::string>> zOrderBy = {};   // paths of columns
  std::vector<std::vector<std::string>> clusterBy = {};  // the table's clustering columns
  bool isAuto = false;
  bool isFull = false;  // of tables with clustering columns
};

// Delta's operation, without its metrics.
Operation optimizeOperation(const OptimizeWords& words);

}  // namespace thalweg::delta
