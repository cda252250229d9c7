// Functions over numbers.
#include "functions/math/tables.h"

namespace thalweg {

std::span<const FunctionRow> mathFunctions() {
  static const std::vector<FunctionRow> rows = [] {
    std::vector<FunctionRow> all;
    for (auto part : {elementaryRows(), roundingRows(), bitRows(), choiceRows()}) all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rows;
}

}  // namespace thalweg
