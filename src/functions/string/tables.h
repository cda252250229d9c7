// The parts of the string family's table.
#pragma once

#include <vector>

#include "functions/registry.h"

namespace thalweg {

std::vector<FunctionRow> textRows();      // case, length, slices, padding, trimming
std::vector<FunctionRow> searchRows();    // contains, instr, replace, split_part, LIKE
std::vector<FunctionRow> regexRows();     // RLIKE, regexp_*, split
std::vector<FunctionRow> encodingRows();  // base64, hex, encode, digests
std::vector<FunctionRow> joiningRows();   // concat, concat_ws, elt, format_string

}  // namespace thalweg
