// Functions over texts.
#include "functions/string/tables.h"

namespace thalweg {

std::span<const FunctionRow> stringFunctions() {
  static const std::vector<FunctionRow> rows = [] {
    std::vector<FunctionRow> all;
    for (auto part : {textRows(), searchRows(), regexRows(), encodingRows(), joiningRows()}) all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rows;
}

}  // namespace thalweg
